"""ravine inside other software: results beside its own, and models that it stores."""
