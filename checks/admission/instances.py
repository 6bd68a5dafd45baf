"""The source of the topic, as its key in the bibliography."""

SOURCE = "queueing_admission"
