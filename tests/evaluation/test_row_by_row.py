import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from ravine.evaluation._row_by_row import RowByRow


class Notes:
    """Remembers the rows that it gets; the cluster of a row is the number of rows learned before."""

    def __init__(self):
        self.learned, self.asked = [], []

    def learn_one(self, x):
        self.learned.append(x)

    def predict_one(self, x):
        self.asked.append(x)
        return len(self.learned)


def test_rows_are_learned_and_predicted_one_by_one_as_dictionaries_of_floats():
    model = Notes()
    adapter = RowByRow(model)
    assert not adapter.__sklearn_is_fitted__()
    assert adapter.partial_fit(np.array([[1, 2.5], [3, 4]])) is adapter
    assert adapter.__sklearn_is_fitted__()
    assert model.learned == [{0: 1.0, 1: 2.5}, {0: 3.0, 1: 4.0}]
    assert {type(value) for row in model.learned for value in row.values()} == {float}
    assert_array_equal(adapter.predict([[5.0, 6.0]]), [2])
    assert model.asked == [{0: 5.0, 1: 6.0}]


def test_sparse_rows_are_the_same_rows():
    model = Notes()
    RowByRow(model).partial_fit(sparse.csr_matrix([[0.0, 2.0], [3.0, 0.0]]))
    assert model.learned == [{0: 0.0, 1: 2.0}, {0: 3.0, 1: 0.0}]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_a_frame_have_their_names(library):
    frames, model = pytest.importorskip(library), Notes()
    RowByRow(model).partial_fit(frames.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}))
    assert model.learned == [{"a": 1.0, "b": 3.0}, {"a": 2.0, "b": 4.0}]
