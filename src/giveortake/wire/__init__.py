"""The protocol between a service and its clients: causes of refusals, and documents that both sides read."""
