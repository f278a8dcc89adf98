"""Why runs went as they did: how fast they came near the optimum, and what the problems were like."""
