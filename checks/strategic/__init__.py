"""Claims about many queues of selfish learners (section 4 of the source)."""
