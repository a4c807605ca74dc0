"""Network files: what they accept, how they fail, and that writing them loses nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.document import parse
from tilewright.errors import InputError
from tilewright.workload import (
    Layer,
    Network,
    dump_network,
    einsum,
    load_network,
    parse_network,
    select,
    zoo_names,
)
from tilewright.workload.operators import conv2d, fully_connected, matmul, pooling

FILE = """
name: two
source: nowhere
layers:
  - name: conv
    einsum: "O[N,K,P,Q] += I[N,C,P+R,Q+S] * W[K,C,R,S]"
    bounds: {N: 1, K: 256, C: 256, P: 14, Q: 14, R: 3, S: 3}
    bits: {I: 8, W: 8, O: 16}
    density: {I: 0.6}
    repeat: 6
  - {name: fc, op: fully_connected, K: 1000, C: 2048}
  - {op: conv2d, N: 2, K: 64, C: 3, P: 112, Q: 112, R: 7, S: 7, stride: [2, 1]}
"""
NAME = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(
    lambda text: text.isprintable() and bool(text.strip())
)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    names = draw(st.lists(NAME, min_size=1, max_size=4, unique=True))
    layers = []
    for name in names:
        size = st.integers(1, 30)
        repeat = draw(st.integers(1, 3))
        bits = draw(st.none() | st.just({"I": 8}))
        density = draw(st.none() | st.fixed_dictionaries({"O": st.floats(0.001, 1)}))
        layers.append(
            draw(
                st.sampled_from(
                    [
                        conv2d(K=draw(size), C=3, P=4, Q=5, R=3, S=3, stride=2, name=name),
                        matmul(M=draw(size), N=2, K=3, name=name, repeat=repeat, bits=bits),
                        pooling(C=draw(size), P=4, Q=5, R=3, S=3, name=name, density=density),
                        einsum("true[null,_e1] += X[null] * Y[_e1]", null=2, _e1=3, name=name),
                    ]
                )
            )
        )
    return Network(draw(NAME), tuple(layers), draw(st.just("") | NAME))


def read(text: str) -> Network:
    return parse_network(parse(text, "net.yaml"))


def test_layers_are_einsums_with_bounds_or_operators_with_sizes() -> None:
    network = read(FILE)
    conv, fc, last = network.layers
    assert (network.name, network.source) == ("two", "nowhere")
    assert (conv.repeat, conv.output.bits, conv.inputs[0].density) == (6, 16, 0.6)
    assert fc == fully_connected(K=1000, C=2048, name="fc")
    assert last.name == "layer3"
    assert last.einsum == "O[N,K,P,Q] += I[N,C,2*P+R,Q+S] * W[K,C,R,S]"
    assert network.operations == sum(x.operations * x.repeat for x in network.layers)


@given(networks())
def test_a_written_network_reads_back_equal(network: Network) -> None:
    assert read(dump_network(network)) == network


def test_a_file_may_hold_one_layer_alone(tmp_path: Path) -> None:
    path = tmp_path / "fc6.yaml"
    path.write_text("op: fully_connected\nK: 10\nC: 20\nsource: a paper\n")
    expected = fully_connected(K=10, C=20, name="fc6")
    assert load_network(path) == Network("fc6", (expected,), "a paper")
    path.write_text("name: x\neinsum: O[N] += I[N]\nbounds: {N: 3}\n")
    assert load_network(str(path)).layers == (einsum("O[N] += I[N]", N=3, name="x"),)


def test_json_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    layers = [{"op": "matmul", "name": "a", "M": 2, "N": 3, "K": 4, "B": 5}]
    path.write_text(json.dumps({"name": "n", "layers": layers}))
    assert load_network(path).layers == (matmul(B=5, M=2, N=3, K=4, name="a"),)


@pytest.mark.parametrize(
    ("text", "start", "says"),
    [
        ("name: x", "net.yaml:1: ", "needs one of the keys 'layers'"),
        ("layrs: []", "net.yaml:1: ", "did you mean 'layers'?"),
        ("name: m\nlevels: []", "net.yaml:2: levels: ", "commands take the workload first"),
        ("- 1", "net.yaml:1: ", "found a list"),
        ("layers: []", "net.yaml:1: ", "missing key 'name'"),
        ("name: x\nlayers: []", "net.yaml:2: layers: ", "at least one layer"),
        ("name: x\nlayers: 3", "net.yaml:2: layers: ", "found 3"),
        ("name: x\nlayer:\n- {op: add}\nlayers: []", "net.yaml:2: layer: ", "'layers'?"),
        ("name: x\nlayers:\n- conv", "net.yaml:3: layers[0]: ", "the keys of a layer, found"),
        ("name: x\nlayers:\n- {o: add}", "net.yaml:3: layers[0]: ", "did you mean 'op'?"),
        ("name: x\nlayers:\n- {op: ad, C: 1}", "net.yaml:3: layers[0].op: ", "mean 'add'?"),
        ("name: x\nlayers:\n- {op: [add]}", "net.yaml:3: layers[0].op: ", "accepted: conv1d"),
        ("op: add\neinsum: a", "net.yaml:1: ", "either 'einsum' or 'op', not both"),
        ("op: matmul\nM: 1\nN: 1", "net.yaml:1: ", "matmul needs the key K"),
        ("op: matmul\nM: 1\nN: 1\nK: 1\nk: 2", "net.yaml:5: k: ", "mean 'K'?"),
        ("op: matmul\nM: 1\nN: 1\nK: 0", "net.yaml:4: K: ", "found 0"),
        ("op: matmul\nM: 1\nN: 1\nK: 1\nbits:\n  I: 8\n  V: 8", "net.yaml:7: bits.V: ", "'V'"),
        ("op: pointwise\nK: 1\nC: 1\nP: 1\nQ: 1\nstride: 0", "net.yaml:6: stride: ", "found 0"),
        ("name: 3\nop: add\nC: 1", "net.yaml:1: name: ", "expected a name, found 3"),
        ("op: add\nC: 1\nsource: [x]", "net.yaml:3: source: ", "expected text"),
        ("einsum: O[N] = I[N]\nbounds: {N: 1}", "net.yaml:1: einsum: ", "write '+='"),
        ("einsum: 3\nbounds: {N: 1}", "net.yaml:1: einsum: ", "found 3"),
        ("einsum: O[N] += I[N]\nbounds:\n  N: a", "net.yaml:3: bounds.N: ", "found 'a'"),
        ("einsum: O[N] += I[N]\nbounds:\n  N: 1\n  M: 2", "net.yaml:4: bounds.M: ", "has N"),
        ("einsum: O[N] += I[M]\nbounds:\n  N: 1", "net.yaml:2: bounds: ", "dimension 'M'"),
        ("einsum: O[N] += I[N]", "net.yaml:1: ", "missing key 'bounds'"),
        ("einsum: O[N] += I[N]\nbounds: {N: 1}\nrepet: 2", "net.yaml:3: repet: ", "'repeat'?"),
        ("einsum: O[N] += I[N]\nbounds: {N: 1}\nrepeat: no", "net.yaml:3: repeat: ", "'no'"),
    ],
)
def test_errors_name_the_file_the_line_and_the_key(text: str, start: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(caught.value).startswith(start)
    assert says in str(caught.value)


def test_layer_names_are_unique() -> None:
    layer = "  - {name: a, op: add, C: 1}\n"
    with pytest.raises(InputError, match=r"net.yaml:4: layers\[1\].name: .*first on line 3"):
        read(f"name: x\nlayers:\n{layer}{layer}")


def test_dimensions_may_share_names_with_keys() -> None:
    layer = read("einsum: O[name,repeat] += I[name+bits]\nbounds: {name: 2, repeat: 3, bits: 4}")
    assert layer.operations == 24
    with pytest.raises(InputError, match=r"net.yaml:3: bounds.repeat: .* found 0"):
        read("einsum: O[repeat] += I[repeat]\nbounds:\n  repeat: 0\nrepeat: 2")


def test_unknown_names_are_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'resnet50'"):
        load_network("resnet-50")
    with pytest.raises(InputError, match=r"missing\.yaml: cannot be read"):
        load_network("missing.yaml")
    network = read(FILE)
    assert select(network, "fc") == network.layers[1]
    with pytest.raises(InputError, match=r"no layer 'cnv' in network 'two'.*did you mean 'conv'"):
        select(network, "cnv")


@pytest.mark.parametrize("name", zoo_names())
def test_networks_that_ship_read_back_equal(name: str) -> None:
    network = load_network(name)
    assert read(dump_network(network)) == network
    assert all(isinstance(layer, Layer) for layer in network.layers)
