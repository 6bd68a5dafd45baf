"""The source of the topic and the instances that several of its claims look at, as exact text."""

SOURCE = "geometric_recharge"
