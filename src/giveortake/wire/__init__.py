"""What a service and its clients say to each other: causes of refusals, and documents that both sides read."""
