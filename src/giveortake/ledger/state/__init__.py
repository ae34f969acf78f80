"""The state of a ledger, derived from its entries: a fold, its checkpoints, and its verification."""
