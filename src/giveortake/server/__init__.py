"""The service: many analysts, one budget, and nobody sees a row.

A front process speaks HTTP and holds no data. Workers, which are other processes and can be killed, hold engine and
session; ledger workers hold the ledger. `giveortake serve` starts all of them.
"""
