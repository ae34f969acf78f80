"""Profiles: how many rows and groups people have, and the contribution bounds that follow."""
