"""Many queues whose learners share servers with one-packet buffers."""
