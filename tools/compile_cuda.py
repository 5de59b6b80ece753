"""Compile every kernel for a CUDA device, where there is none: the simulator of Numba checks no types.

    pip install 'ravine[gpu]'
    python tools/compile_cuda.py

A kernel is compiled to the assembly of a device for rows in float32 and in float64, with the types of all arguments as
`ravine._outofcore._device_reductions` and `ravine.tree._device` pass them. Nothing is run.
"""

import sys

from numba import cuda, types
from numba.cuda import dispatcher

from ravine import _kernels
from ravine._outofcore._device_arrays import cuda as cuda_with_new_numpy

CAPABILITY = (8, 0)
"""The kind of device."""

NUMBER, WHOLE, IS, BITS = types.float64, types.int64, types.boolean, types.uint64


def array(kind, n_dimensions=1):
    """The type of an array."""
    return types.Array(kind, n_dimensions, "C")


FLOATS, TABLE, CUBE = array(NUMBER), array(NUMBER, 2), array(NUMBER, 3)
WHOLES, LISTED, NUMBERS, FLAGS = array(WHOLE), array(types.int32), array(BITS), array(IS)
WEIGHTS = FLOATS, WHOLE
CUTS = TABLE, FLOATS, WHOLES, WHOLES
ALONG = FLOATS, NUMBER


def signatures(kind):
    """The types of the arguments of each kernel, for rows of one type."""
    X, edges = array(kind, 2), TABLE
    every, some = (X, edges, WHOLE), (X, edges, LISTED, WHOLE)
    contents = NUMBERS, BITS
    return {
        "add_lines": (array(WHOLE, 2),),
        "cell_extremes": (*some, *ALONG, FLOATS, TABLE),
        "count_upper_bits": (NUMBERS, WHOLE, WHOLES),
        "equals": (LISTED, WHOLE, FLAGS, LISTED),
        "extent": (*some, FLOATS, FLOATS, WHOLES),
        "fill": (FLOATS, NUMBER),
        "fingerprints": (*some, *WEIGHTS, *contents, IS, NUMBERS),
        "gather": (X, edges, LISTED, X),
        "gather_values": (FLOATS, WHOLE, LISTED, FLOATS),
        "label_outliers": (*every, WHOLES, TABLE, CUBE, FLOATS, WHOLES),
        "leaves": (*some, *CUTS, WHOLES, LISTED),
        "likeliest": (*every, TABLE, CUBE, FLOATS, NUMBER, NUMBER, WHOLES, WHOLES, WHOLES),
        "likeliest_of_planes": (*every, FLOATS, FLOATS, TABLE, WHOLES, WHOLES, WHOLES),
        "look": (*some, *WEIGHTS, *ALONG, FLOATS, WHOLES, WHOLES, *[NUMBER] * 3, array(WHOLE, 2), TABLE, FLOATS),
        "look_up": (WHOLES, WHOLES, WHOLES),
        "moments": (*some, *WEIGHTS, FLOATS, NUMBER, NUMBER, FLOATS, FLOATS, FLOATS, TABLE, TABLE),
        "partition": (LISTED, WHOLE, FLAGS, WHOLES, LISTED, LISTED),
        "positions": (*some, *ALONG, FLOATS),
        "pull": (*some, *WEIGHTS, FLOATS, *ALONG, NUMBER, NUMBER, FLOATS, NUMBER, NUMBER, FLOATS, TABLE),
        "rounded_scatter": (*some, *WEIGHTS, FLOATS, FLOATS, WHOLE, array(WHOLE, 3)),
        "rows_at_distance": (
            *(*some, *ALONG, FLOATS, TABLE, FLOATS, WHOLES, WHOLES, NUMBER),
            *(*contents, IS, NUMBERS, WHOLES),
        ),
        "scatter": (*some, *WEIGHTS, FLOATS, NUMBER, TABLE, CUBE),
        "select": (NUMBERS, BITS, WHOLES, WHOLES, NUMBERS),
        "sides": (*some, *ALONG, FLAGS, LISTED),
        "tell_copies_apart": (NUMBERS, WHOLE, WHOLE, BITS, NUMBERS, LISTED, array(types.int8)),
        "walk": (*every, *CUTS, WHOLES, WHOLES, WHOLES, TABLE),
    }


def main():
    """Compile, and say which kernels failed."""
    cuda_with_new_numpy()
    # Functions of the device ask for its kind, which would need a driver.
    dispatcher.get_current_device = type("Device", (), {"compute_capability": CAPABILITY})
    kernels = {name for name in _kernels.cuda.__all__ if name.islower()}
    failed = []
    for kind in (types.float32, types.float64):
        given = signatures(kind)
        if given.keys() != kernels:
            sys.exit(f"signatures and kernels differ: {sorted(given.keys() ^ kernels)}")
        for name, arguments in given.items():
            try:
                cuda.compile_ptx(getattr(_kernels.cuda, name).py_func, arguments, cc=CAPABILITY)
            except Exception as error:
                print(f"{name}, {kind}: {type(error).__name__}: {error}")
                failed.append(name)
    print(f"{2 * len(kernels) - len(failed)} of {2 * len(kernels)} kernels were compiled")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
