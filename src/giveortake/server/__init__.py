"""The service: many analysts, one budget, nobody sees a row."""
