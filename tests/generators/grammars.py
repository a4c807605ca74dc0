"""Good files that use most keys of every grammar, and the commands that read them.

Each command reads good files by name; a test breaks one of them.
"""

from __future__ import annotations

FILES = {
    "net.yaml": """\
name: net
source: made up
layers:
  - name: conv
    einsum: "O[K,P,Q] += I[C,2*P+R,Q+2*S] * W[K,C,R,S]"
    bounds: {K: 4, C: 4, P: 3, Q: 4, R: 2, S: 2}
    bits: {I: 8, W: 4, O: 16}
    density: {I: 0.5}
    layout: {I: "P,Q,C"}
    repeat: 2
  - {name: up, op: transposed_conv2d, K: 2, C: 3, P: 3, Q: 3, R: 2, S: 2, stride: 2}
  - {name: pool, op: pooling, C: 4, P: 3, Q: 3, R: 2, S: 2, stride: [2, 1]}
""",
    "chain.yaml": """\
name: chain
layers:
  - {name: fc1, op: matmul, M: 8, N: 6, K: 4, tensors: {I: X, O: H}}
  - {name: act, einsum: "O[M,N] += I[M,N]", bounds: {M: 8, N: 6}, operation: relu,
     tensors: {I: H, O: A}}
  - {name: fc2, op: matmul, M: 8, N: 5, K: 6, tensors: {I: A, O: Y}}
inputs: {X: [8, 4]}
""",
    "wide.yaml": """\
name: wide
levels:
  - {memory: DRAM, word: 16 bits, energy: {read: 200, write: 200}, bandwidth: 4}
  - {memory: GLB, size: 128 B, word: 16 bits, energy: {read: 6, write: 6}}
  - {array: PE, axes: {X: 4}}
  - {memory: RF, size: 16 B, word: 16 bits, energy: {read: 1, write: 1}}
  - {compute: MAC, energy: 1}
""",
    "fused.yaml": """\
halos: {H: {M: retain}}
mapping:
  - {store: DRAM}
  - {for: M, tile: 2}
  - {store: GLB, tensors: [H, A]}
  - fuse:
      - layer: fc1
        nodes: [{spatial: N, tile: 2, axis: X}, {store: RF, tensors: [O]}]
      - layer: act
        nodes: []
      - layer: fc2
        nodes:
          - {store: GLB, tensors: [W]}
          - {for: K, tile: 1}
""",
    "asic.yaml": """\
name: asic
clock: 500 MHz
technology: tech.yaml
latency: pipelined
levels:
  - {memory: DRAM, kind: LPDDR4, word: 16 bits, block: 32 B, channels: 2,
     dma: {startup: 10, per_byte: 0.24, clock: 1 GHz}}
  - {memory: GLB, size: 1 KiB, word: 16 bits, width: 32 bits, banks: 4, buffering: double,
     bandwidth: {read: 2, write: 1 B/cycle, shared: 4 GB/s}, leakage: 0.5, area: 0.1,
     address_generator: true, ports: 1}
  - array: PE
    axes: {X: 4, Y: 2}
    network: {multicast: true, reduction: true, forwarding: false, energy: 0.1, bandwidth: 4,
              word: 16 bits, networks: {read: 2, write: 1, reduction: 1}, adders: tree}
  - {memory: RF, size: {I: 64 B, W: 64 B, O: 64 B}, word: 16 bits, keep: [I, W, O], must_keep: [O]}
  - {compute: MAC, cycles: 1, gated: true, arithmetic: fp16, word: 16 bits}
constraints:
  - {at: PE, axis: X, dims: [W&O, I&W not sliding], max_dims: 2}
""",
    "tech.yaml": """\
name: own
source: measured
unit: pJ
access: 16 bits
memories:
  dram: {energy: 150}
  sram: {table: sram.csv}
  registers: {points: {8 B: 0.05, 512 B: 0.6}, per_doubling: 1.4}
wire: 0.04
operations:
  integer: {mac: {8 bits: 0.02, 16 bits: 0.07}, area: {mac: {16 bits: 200}}}
  float: {add: {16 bits: 0.1}, multiply: {16 bits: 0.3}}
address_generator: {energy: 0.006, area: 8.6}
""",
    "sram.csv": """\
bytes,width_bits,ports,banks,read_pj,write_pj,area_mm2,leakage_mw
256,32,1,1,0.5,0.6,0.001,0.01
4096,32,1,1,1.5,1.6,0.01,0.1
256,64,1,1,0.8,0.9,0.002,0.02
4096,64,1,1,2.5,2.6,0.02,0.2
4096,64,2,1,3.5,3.6,0.03,0.3
4096,64,1,4,2.0,2.1,0.03,0.3
""",
    "flow.yaml": """\
name: flow
source: made up
constraints:
  - {at: PE, axis: first, dims: [W&O, I&W not sliding], max_dims: 1}
  - {at: array, require: [K], factor: {K: {min: 2, max: 4}}}
  - {at: local, tile: {P: 1, S: all, K: {max: 8}}, keep: [W]}
  - {at: GLB, tensors: [I], tile: {C: 4}, bypass: [W], order: [K, C], innermost: [P, Q]}
  - {at: memories, even: true, min_utilization: 0.001}
""",
    "space.yaml": """\
name: sizes
parameters:
  columns: [2, 4]
  rows: {from: 1, to: 3, step: 2}
  glb: {from: 256 B, to: 1 KiB, factor: 2}
  node: [22, 32]
machine:
  technology: cacti7-${node}nm
  levels:
    - {memory: DRAM, kind: LPDDR4, word: 16 bits, bandwidth: $columns * 2}
    - {memory: GLB, size: $glb, word: 16 bits, width: 64 bits}
    - {array: PE, axes: {X: $columns, Y: "max($rows, 2)"}}
    - {memory: RF, size: $glb / 16, word: 16 bits}
    - {compute: MAC}
limits: {area: 2 mm2, glb + 64 * columns: <= 3 KiB}
workloads: {tiny.yaml: 0.7, dot.yaml: 0.3}
""",
    "tiny.yaml": "name: n\nlayers:\n  - {name: l, op: matmul, M: 4, N: 2, K: 4}\n",
    "dot.yaml": "{op: matmul, M: 2, N: 2, K: 6}\n",
    "mapping.yaml": """\
mapping:
  - {store: DRAM}
  - {for: P, tile: 2}
  - {store: GLB, tensors: [I, O]}
  - {spatial: K, tile: 2, axis: X, array: PE}
  - {for: Q, tile: 3}
  - {for: C, tile: 1}
  - {store: RF}
""",
    "mapping.txt": """\
DRAM stores I, W, O
  for P in 2 x 2 (last 1)
    GLB stores I, O
      spatial K in 2 x 2 on PE.X
        for Q in 2 x 3 (last 1)
          for C in 4 x 1
            RF stores all
              MAC computes K 2, P 2, Q 3, R 2, S 2
""",
    "s.cfg": """\
[general]
run_name = example

[architecture_presets]
ArrayHeight: 4
ArrayWidth: 8
IfmapSramSzkB: 64
FilterSramSzkB: 32
OfmapSramSzkB: 16
IfmapOffset: 0
FilterOffset: 10000000
OfmapOffset: 20000000
Bandwidth: 10
Dataflow: ws

[run_presets]
InterfaceBandwidth: USER
""",
    "t.csv": """\
Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
one, 6, 6, 3, 3, 4, 8, 1,
dwDP, 7, 5, 3, 3, 8, 1, 2,
""",
}
LIMIT = "--time-limit 0.1 --tiles divisors"
# a file, and commands that read it
READERS = {
    "net.yaml": (
        "show net.yaml",
        f"map net.yaml wide.yaml {LIMIT} --json out.json",
        "layout net.yaml asic.yaml --layer conv --json out.json",
        "traffic net.yaml --layer conv --time-limit 0.1",
        "map net.yaml wide.yaml --uniform dataflow --time-limit 0.1 --json out.json",
        "export net.yaml asic.yaml --layer conv",
    ),
    "chain.yaml": (
        "show chain.yaml",
        "evaluate chain.yaml wide.yaml fused.yaml --json out.json",
        "map chain.yaml wide.yaml --fuse --time-limit 0.2 --json out.json -o out.yaml",
    ),
    "wide.yaml": (
        "show wide.yaml",
        "evaluate chain.yaml wide.yaml fused.yaml",
        "map chain.yaml wide.yaml --fuse --time-limit 0.2",
        "mapspace tiny.yaml wide.yaml --samples 20 --time-limit 0.1",
    ),
    "fused.yaml": (
        "evaluate chain.yaml wide.yaml fused.yaml --json out.json",
        "simulate chain.yaml wide.yaml fused.yaml",
    ),
    "asic.yaml": (
        "show asic.yaml",
        "evaluate net.yaml asic.yaml mapping.yaml --layer conv --json out.json --trace out.trace",
        "evaluate net.yaml asic.yaml mapping.yaml --layer conv --timeline out.html",
        "evaluate net.yaml asic.yaml mapping.yaml --layer conv --latency throughput --statistics",
        "map tiny.yaml asic.yaml --time-limit 0.1 --json out.json",
    ),
    "tech.yaml": ("show asic.yaml",),
    "sram.csv": ("show asic.yaml",),
    "flow.yaml": (
        "show flow.yaml",
        f"map net.yaml wide.yaml --layer conv --constraint flow.yaml {LIMIT}",
    ),
    "space.yaml": ("explore space.yaml --time-limit 0.2 --json out.json --csv out.csv",),
    "mapping.yaml": (
        "evaluate net.yaml asic.yaml mapping.yaml --layer conv --json out.json",
        "simulate net.yaml asic.yaml mapping.yaml --layer conv",
        "convert net.yaml asic.yaml mapping.yaml --layer conv",
        "export net.yaml asic.yaml mapping.yaml --layer conv",
    ),
    "mapping.txt": ("evaluate net.yaml asic.yaml mapping.txt --layer conv",),
    "s.cfg": ("show s.cfg", f"map t.csv s.cfg {LIMIT} --json out.json"),
    "t.csv": ("show t.csv", f"map t.csv s.cfg {LIMIT} --json out.json"),
}
