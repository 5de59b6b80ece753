"""ravine in other tools, and data as their users bring it: what a model does there, and what it costs."""
