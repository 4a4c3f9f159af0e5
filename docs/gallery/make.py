"""Makes the pictures of the gallery and times its programs beside numpy: `python3 docs/gallery/make.py` (needs numpy).

It runs the command `fusebox` that `cargo build --release -p fusebox-cli` builds (another one with `--fusebox PATH`), compares its results with
numpy's, writes pictures to docs/book/gallery, and prints the table of docs/book/gallery.md. Names of programs after the options make it run
those alone. Times are medians of runs that take turns, so that what else the machine does is shared.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import in_numpy
import inputs
import pictures

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["mandelbrot", "ray", "canny", "fluid", "life", "nbody", "crystal", "kmeans", "pagerank", "sieve"]
ROUNDS = 5


def results(name):
    text = (ROOT / f"golden/programs/{name}.fbx").read_text()
    return [part.strip() for part in text[text.rindex("return") + 6 : text.rindex("}")].split(",")]


class Program:
    def __init__(self, fusebox, name, given, folder):
        self.name, self.given, self.folder = name, given, Path(folder)
        self.command = [fusebox, "run", ROOT / f"golden/programs/{name}.fbx"]
        for key, value in given.items():
            np.save(self.folder / f"{key}.npy", value if isinstance(value, (np.ndarray, np.generic)) else np.int64(value))
            self.command += ["-i", f"{key}={self.folder / key}.npy"]

    def result(self):
        """What it gives."""
        names = results(self.name)
        outputs = [part for name in names for part in ("-o", f"{name}={self.folder / name}.out.npy")]
        subprocess.run(self.command + outputs, check=True, capture_output=True)
        return [np.load(self.folder / f"{name}.out.npy") for name in names]

    def time(self, repeat):
        """Milliseconds of a run: of reading, compiling and writing none."""
        out = subprocess.run(self.command + ["--stats", "--repeat", str(repeat)], check=True, capture_output=True, text=True).stdout
        return json.loads(out)["milliseconds"]["run_median"]

    def numpy(self):
        begin = time.perf_counter()
        made = getattr(in_numpy, self.name)(*self.given.values())
        return made, 1e3 * (time.perf_counter() - begin)


def difference(name, ours, theirs):
    """The greatest difference, as a part of the largest number, or of all elements where results are whole numbers."""
    worst = 0.0
    for one, other in zip(ours, theirs, strict=True):
        one, other = np.asarray(one, float), np.asarray(other, float)
        assert one.shape == other.shape, f"{name}: {one.shape}, by numpy {other.shape}"
        worst = max(worst, np.abs(one - other).max() / max(1e-30, np.abs(other).max()))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fusebox", default=ROOT / "target/release/fusebox", help="the command to run")
    parser.add_argument("--no-times", action="store_true", help="pictures alone")
    parser.add_argument("names", nargs="*", help="programs [default: all]")
    options = parser.parse_args()
    to = ROOT / "docs/book/gallery"
    to.mkdir(exist_ok=True)
    lines = []
    for name in options.names or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            make = getattr(inputs, name)
            if name == "canny":
                traced = Program(options.fusebox, "ray", inputs.ray(), folder).result()[0]
                given = make(traced)
            else:
                given = make()
            program = Program(options.fusebox, name, given, folder)
            ours = program.result()
            picture = getattr(pictures, name)(given, *ours)
            pictures.write(to / f"{name}.png", picture)
            if options.no_times:
                continue
            times = [(program.time(5), program.numpy()) for _ in range(ROUNDS)]
            fusebox, numpy = (statistics.median(t) for t in zip(*((own, other[1]) for own, other in times)))
            away = difference(name, ours, times[0][1][0])
        line = f"| [{name}](gallery-{name}.md) | {fusebox:.2f} | {numpy:.1f} | {numpy / fusebox:.0f} |"
        print(f"{line}    largest difference {away:.1e}", flush=True)
        lines.append(line)
    if lines:
        print("\n| program | fusebox, ms | numpy, ms | numpy / fusebox |\n|---|---:|---:|---:|\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
