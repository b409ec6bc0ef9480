"""What an epoch of the convolutional network takes: threads, batch size, memory format, dropout.

`python -m benchmarks.network` prints a table of ratios to what `decoupling reproduce` uses, all of
one run. Random pictures do: the time does not depend on what they show.
"""

import argparse
import time

import torch
from torch import nn

from benchmarks.timing import progress
from decoupling.experiments.networks import NETWORKS

OPTIONS = NETWORKS["cnn"]
# Options that the experiments train with.
USED = {
    "threads": 1,
    "batch": int(OPTIONS["batch"]),
    "channels last": True,
    "dropout": "filters",
    "fused": True,
}
# Options that are changed one by one, to see what each is worth.
OTHERS = [
    {"threads": 2},
    {"batch": 32},
    {"batch": 512},
    {"channels last": False},
    {"dropout": "pixels"},
    {"dropout": "none"},
    {"fused": False},
]


def epoch(pictures: torch.Tensor, codes: torch.Tensor, options: dict) -> float:
    """Seconds that one pass over the pictures takes."""
    torch.set_num_threads(options["threads"])
    filters, kernel = int(OPTIONS["filters"]), int(OPTIONS["kernel"])
    dropout = {"filters": nn.Dropout2d(0.2), "pixels": nn.Dropout(0.2), "none": nn.Identity()}
    model = nn.Sequential(
        nn.Conv2d(1, filters, kernel, padding=kernel // 2), nn.MaxPool2d(2), nn.ReLU(),
        dropout[options["dropout"]], nn.Flatten(), nn.Linear(filters * 14 * 14, 11),
    )  # fmt: skip
    if options["channels last"]:
        model = model.to(memory_format=torch.channels_last)
        pictures = pictures.contiguous(memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(model.parameters(), fused=options["fused"])
    start = time.perf_counter()
    for rows in torch.randperm(len(codes)).split(options["batch"]):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(pictures[rows]), codes[rows]).backward()
        optimiser.step()
    return time.perf_counter() - start


def main() -> None:
    """Time all settings in turn, several times, and print the medians."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.network", description=__doc__)
    parser.add_argument("--pictures", type=int, default=6000)
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    torch.manual_seed(0)
    pictures = torch.rand(chosen.pictures, 1, 28, 28)
    codes = torch.randint(11, (chosen.pictures,))
    settings = [USED, *({**USED, **other} for other in OTHERS)]
    seconds = [[] for _ in settings]
    for number in range(chosen.repeats):
        progress(f"{number + 1} of {chosen.repeats}")
        for times, options in zip(seconds, settings, strict=True):
            times.append(epoch(pictures, codes, options))
    used = sorted(seconds[0])[chosen.repeats // 2]
    print("| setting | time of an epoch, relative |\n|---|---|")
    print(f"| as used: {', '.join(f'{k} {v}' for k, v in USED.items())} | 1.00 |")
    for times, other in zip(seconds[1:], OTHERS, strict=True):
        (name, value), middle = next(iter(other.items())), sorted(times)[chosen.repeats // 2]
        print(f"| {name}: {value} | {middle / used:.2f} |")


if __name__ == "__main__":
    main()
