"""Worker processes: their pools, messages to them, and the operations that each kind offers."""
