"""Small files in the formats of other tools, written for the tests."""

from __future__ import annotations

# SCALE-Sim
SCALESIM_TOPOLOGY = """\
Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,

Conv1     ,224    ,224   ,11  ,11  ,3  ,96  ,4 ,
Conv2, 27, 27, 5, 5, 96, 256, 1
dwDP, 13, 15, 3, 3, 8, 1, 2, #dw
two, 10, 11, 3, 2, 4, 6, 2, 3, 1:2,
two, 10, 11, 3, 2, 4, 6, 2, 3,
"""
SCALESIM_CONFIGURATION = """\
[general]
run_name = example

[architecture_presets]
ArrayHeight:    16
ArrayWidth:     8
IfmapSramSzkB:   64
FilterSramSzkB:  32
OfmapSramSzkB:   16
IfmapOffset:    0
FilterOffset:   10000000
OfmapOffset:    20000000
Bandwidth : 10,10
Dataflow : os
MemoryBanks: 2
IfmapCustomLayout: True

[run_presets]
InterfaceBandwidth: USER
"""
# ZigZag
ZIGZAG_WORKLOAD = """\
- id: 0
  operator_type: Conv
  equation: O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]
  dimension_relations: [ix=2*ox+1*fx, iy=2*oy+1*fy]
  loop_dims: [B, K, C, OY, OX, FY, FX]
  loop_sizes: [1, 64, 3, 12, 12, 7, 7]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {I: 0, W: 0}
- id: 1
  operator_type: Pooling
  equation: O[b][g][oy][ox]+=W[fx][fy]*I[b][g][iy][ix]
  dimension_relations: [ix=2*ox+1*fx, iy=2*oy+1*fy]
  loop_dims: [B, G, OY, OX, FX, FY]
  loop_sizes: [1, 64, 6, 6, 3, 3]
  operand_precision: {I: 8, W: 0, O: 16, O_final: 8}
  operand_source: {I: 0, W: 1}
- id: 7
  name: sum
  operator_type: Add
  equation: O[b][g][oy][ox]=W[b][g][oy][ox]+I[b][g][oy][ox]
  loop_dims: [B, G, OY, OX]
  loop_sizes: [1, 64, 6, 6]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {W: 1, I: 1}
"""
MEMORY = """\
  {name}:
    size: {size}
    r_bw: {bits}
    w_bw: {wide}
    r_cost: {cost}
    w_cost: 3
    r_port: 1
    w_port: 1
    rw_port: 0
    latency: 1
    operands: [{operands}]
    ports: [{{fh: w_port_1, tl: r_port_1}}]
    served_dimensions: [{served}]
"""
LEVELS = (
    ("weights", 8, 8, 8, 0.5, "I2", ""),
    ("sums", 32, 16, 16, 0.25, "O", "D1"),
    ("sram", 8192, 64, 32, 9, "I1, O", "D1, D2"),
    ("dram", 10**10, 64, 64, 700, "I1, I2, O", "D1, D2"),
)
ARRAY = """\
operational_array:
  unit_energy: 0.04
  unit_area: 1
  dimensions: [D1, D2]
  sizes: [8, 4]
"""
ZIGZAG_MAPPING = """\
- name: default
  core_allocation: [1]
  spatial_mapping:
    D1: ["C, 8"]
    D2: ["K, 4"]
  memory_operand_links: {O: O, W: I2, I: I1}
"""


def zigzag_hardware(levels: tuple[tuple[object, ...], ...] = LEVELS) -> str:
    keys = ("name", "size", "bits", "wide", "cost", "operands", "served")
    parts = [MEMORY.format(**dict(zip(keys, level, strict=True))) for level in levels]
    return f"name: own\nmemories:\n{''.join(parts)}{ARRAY}"


# AccelForge
ACCELFORGE_WORKLOAD = """\
workload:
  rank_sizes:
    {% set TOKENS = TOKENS | default(16) %}
    B: 1
    P: {{TOKENS}}
    M: {{TOKENS}}
    H: 4
    E: 8
    F: 8
    D: 32
  bits_per_value: {All: 8, WV: 4}
  einsums:
  - "V[b, m, h, e] = I[b, m, d] * WV[h, e, d]"
  - "K[b, m, h, e] = I[b, m, d] * WK[h, e, d]"
  - "Q[b, m, h, e] = copy(I[b, m, d] * WQ[h, e, d])"
  - einsum: "QK[b, m, p, h] = K[b, M: p, h, e] * Q[b, m, h, e]"
    renames: {input: Q}
  - name: apply
    tensor_accesses:
    - {name: QK, projection: [b, m, p, h]}
    - {name: V, projection: {H: h, B: b, M: p, E: f}}
    - {name: AV, projection: [b, m, h, f], output: True}
"""
ACCELFORGE_CONVOLUTION = """\
workload:
  rank_sizes: {T: 6}
  iteration_space_shape: {p: 0 <= p < 10, c: 1 <= c <= 6}
  einsums:
  - name: depthwise
    tensor_accesses:
    - {name: A, projection: {P: 2*p + r, T: c}}
    - {name: W, projection: [r, c]}
    - {name: Z, projection: [p, c], output: True}
    iteration_space_shape: [0 <= r < 3]
"""
ACCELFORGE_ARCHITECTURE = """\
arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    tensors: {keep: ~Intermediates, may_keep: All}
    actions:
    - {name: read, energy: 7e-12, latency: 1 / (8 * 600e9)}
    - {name: write, energy: 7e-12, latency: 1 / (8 * 600e9)}
  - !Hierarchical
    nodes:
    - !Memory
      name: Buffer
      size: 1024*16*8
      total_latency: max(read_latency, write_latency)
      tensors: {keep: input | output}
      actions:
      - {name: read, energy: 32e-12, bits_per_action: 16, throughput: 1e9}
      - {name: write, energy: 2e-12, latency: 0}
    - !Fanout
      name: Array
      spatial:
      - {name: X, fanout: 4, may_reuse: input, reuse: input}
      - {name: Y, fanout: 8, may_reuse: output, reuse: output}
  - !Memory
    name: Register
    size: weight.bits_per_value if weight else 0
    tensors: {keep: weight}
    actions: [{name: read, energy: 0}, {name: write, energy: 0}]
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 0.5e-12, latency: 1 / 2e9}]
"""
