"""The chain of entries: stored, hashed, indexed, and protected against rollback by a high-water mark."""
