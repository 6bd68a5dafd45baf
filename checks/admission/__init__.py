"""Claims about admission control of a partially observed queueing network."""
