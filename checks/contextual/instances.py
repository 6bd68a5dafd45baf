"""The source of the topic, as its key in the bibliography."""

SOURCE = "contextual_queueing"
