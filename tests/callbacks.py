"""A callback of scikit-learn that follows a fit."""


class TaskCallback:
    """Counts the tasks of a name, wants to stop at so many, and calls a function at the first."""

    max_propagation_depth = None

    def __init__(self, task_name="cut", stop_at=None, at_first=None):
        self.n_tasks, self.task_name, self.stop_at, self.at_first = 0, task_name, stop_at, at_first

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.task_name != self.task_name:
            return False
        self.n_tasks += 1
        if self.n_tasks == 1 and self.at_first is not None:
            self.at_first()
        return self.n_tasks == self.stop_at
