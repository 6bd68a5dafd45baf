"""The source of the topic and the service rates of its two simulated instances, as exact text."""

SOURCE = "geometric_recharge"
I3 = ("1/2", "1/10", "3/10")
I7 = ("1/2", "33/100", "33/100", "33/100", "1/4", "1/4", "1/10")
