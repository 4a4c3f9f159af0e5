"""What the references share: registration, random inputs, segments, neighbours."""

import numpy as np

DTYPES = {
    "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
    "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64,
}
PROGRAMS = {}


def program(relative=None, absolute=0.0):
    """Registers a function from a random generator to inputs and expected results; without `relative`, results are exact."""
    tolerance = "exact" if relative is None else {"relative": relative, "absolute": absolute}

    def register(make):
        PROGRAMS[make.__name__.rstrip("_")] = (make, tolerance)
        return make

    return register


def f32(a):
    return np.asarray(a, dtype=np.float32)


def uniform(rng, low, high, *shape):
    """Uniform float32 values; what follows computes with these values, widened."""
    return f32(rng.uniform(low, high, shape))


def offsets_of(lengths, dtype=np.int64):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(dtype)


def segments(x, offsets):
    return [x[..., a:b] for a, b in zip(offsets[:-1], offsets[1:])]


def shifted(a, offsets, mode="edge", **more):
    """The array whose element ix is a[ix + offsets], outside by numpy's rule `mode`."""
    width = max(abs(o) for o in offsets)
    padded = np.pad(a, width, mode=mode, **more)
    return padded[tuple(slice(width + o, width + o + n) for o, n in zip(offsets, a.shape))]


def nested(name, arrays, dtype):
    """The two files of an array of arrays of vectors."""
    values = np.concatenate([np.asarray(a, dtype) for a in arrays]) if arrays else np.zeros(0, dtype)
    return {f"{name}.extents": np.array([len(a) for a in arrays], np.int64), f"{name}.values": values}
