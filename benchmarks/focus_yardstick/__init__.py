"""What a game adds to a learner: bare, with uniform replay, and with each policy, at equal compute and false alarms."""
