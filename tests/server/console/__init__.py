"""The console in a real browser, on the real service: every screen, every designed state, and nothing that runs."""
