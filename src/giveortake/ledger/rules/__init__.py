"""What may enter the chain: registration, budgets, admission, reservations, approvals, tokens, releases."""
