"""Prints the table of docs/tile-sizes.md: what tile sizes that do not divide are worth.

python docs/tile_sizes.py
"""

from __future__ import annotations

from time import process_time

import tilewright as tw

MATMUL = "O[M,N] += I[M,K] * W[K,N]"
CONV = "O[K,P,Q] += I[C,P+R,Q+S] * W[K,C,R,S]"
CASES = [
    ("matrix product 127x131x61", tw.einsum(MATMUL, M=127, N=131, K=61)),
    ("fully connected 2048 -> 1000", tw.einsum(MATMUL, M=1, N=1000, K=2048)),
    ("convolution 64x64x7x7x3x3", tw.einsum(CONV, K=64, C=64, P=7, Q=7, R=3, S=3)),
    ("convolution 256x256x14x14x3x3", tw.einsum(CONV, K=256, C=256, P=14, Q=14, R=3, S=3)),
    ("convolution 64x64x13x13x3x3", tw.einsum(CONV, K=64, C=64, P=13, Q=13, R=3, S=3)),
    ("convolution 96x3x55x55x11x11", tw.einsum(CONV, K=96, C=3, P=55, Q=55, R=11, S=11)),
]
MACHINES = ("simple", "eyeriss", "dmazerunner-256")


def main() -> None:
    """Map every layer onto every machine, with divisors and with all tile sizes."""
    print("| layer | machine | divisors | all sizes | lower | utilization", end=" | ")
    print("gap | irregular | seconds |")
    print("| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | --- |")
    for name, layer in CASES:
        for machine in MACHINES:
            begin = process_time()
            even = tw.map(layer, machine, "edp", cache=False, tiles="divisors").layers[0]
            middle = process_time()
            free = tw.map(layer, machine, "edp", cache=False, tiles="all").layers[0]
            end = process_time()
            least = free.proof.lower_bound_irregular or 0.0
            print(
                f"| {name} | {machine} | {even.proof.value:.4g} | {free.proof.value:.4g} | "
                f"{1 - free.proof.value / even.proof.value:.1%} | "
                f"{even.evaluation.utilization:.0%} -> {free.evaluation.utilization:.0%} | "
                f"{free.proof.gap:.1%} | {1 - least / free.proof.value:.1%} | "
                f"{middle - begin:.1f} -> {end - middle:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    tw.map(tw.matmul(M=4, N=4, K=4), "simple", cache=False, tiles="all")  # compiles
    main()
