"""ravine in other tools: what a model does there, and what it costs."""
