"""MAESTRO's file format: what is read, and what is said where it cannot be read."""

from __future__ import annotations

import pytest

from tilewright.errors import InputError
from tilewright.interop.maestro.layers import network_of
from tilewright.interop.maestro.reader import (
    looks_like_directives,
    parse_dataflow,
    parse_network_text,
)
from tilewright.interop.maestro.styles import load_style, style_names
from tilewright.interop.maestro.writing import dump_network, same
from tilewright.workload.network import load_network

NETWORK = """// a comment
Constant Tile 64;
Network Small {
\tLayer CONV1 {
\t\tType: CONV
\t\tStride { X: 2, Y: 2 }
\t\tDimensions { K: 8, C: 3 R: 3, S: 3, Y:9, X:11 }
\t\tDataflow {
\t\t\tSpatialMap(1,1) K;   // across
\t\t\tTemporalMap (Tile,Tile) C;
\t\t\tTemporalMap(Sz(R),1) Y;
\t\t\tTemporalMap(8+Sz(S)-1,8) X;
\t\t\tCluster(Tile, P);
\t\t\tSpatialMap(1,1) C;
\t\t}
\t}
\tLayer CONV2 { Type: DSCONV Dimensions { K: 1, C: 16, R: 3, S: 3, Y: 8, X: 8 } }
\tLayer CONV2 { Type: NGCONV Dimensions { G: 4, K: 2, C: 8, R: 1, S: 1, Y: 5, X: 5 } }
}
Accelerator { PE { NumPEs: 128; } }
"""


def layers(text: str):
    return network_of(parse_network_text("Network n { " + text + " }")).layers


def test_a_network_with_comments_constants_and_inherited_dataflow() -> None:
    text = parse_network_text(NETWORK)
    network = network_of(text)
    assert [layer.name for layer in network.layers] == ["CONV1", "CONV2", "CONV2_2"]
    first, second, third = network.layers
    assert first.bounds == {"N": 1, "K": 8, "C": 3, "P": 4, "Q": 5, "R": 3, "S": 3}
    assert "2*P+R" in first.einsum
    assert second.bounds == {"N": 1, "G": 16, "P": 6, "Q": 6, "R": 3, "S": 3}
    assert third.bounds == {"N": 1, "G": 4, "K": 2, "C": 2, "P": 5, "Q": 5, "R": 1, "S": 1}
    assert text.layers[1].dataflow == text.layers[0].dataflow
    assert str(text.layers[0].dataflow).splitlines() == [
        "SpatialMap(1,1) K;",
        "TemporalMap(64,64) C;",
        "TemporalMap(Sz(R),1) Y;",
        "TemporalMap(8+Sz(S)-1,8) X;",
        "Cluster(64,P);",
        "SpatialMap(1,1) C;",
    ]


@pytest.mark.parametrize(
    ("text", "einsum", "operations"),
    [
        ("Type: GEMM Dimensions { K: 5, M: 3, N: 4 }", "O[M,N] += I[M,K] * W[K,N]", 60),
        ("Type: BMM Dimensions { B: 2, K: 5, M: 3, N: 4 }", None, 120),
        ("Type: FC Dimensions { K: 10, C: 7 }", "O[N,K] += I[N,C] * W[K,C]", 70),
        ("Type: FC Dimensions { K: 10, C: 7, R: 2, S: 2, Y: 2, X: 2 }", None, 280),
        ("Type: TRCONV Dimensions { K: 2, C: 3, R: 2, S: 2, Y: 4, X: 4 }", None, 384),
        ("Type: POOL Stride { X: 2, Y: 2 } Dimensions { C: 3, R: 2, S: 2, Y: 4, X: 4 }", None, 48),
        ("Type: RESIDUAL Dimensions { C: 3, Y: 4, X: 4 }", None, 48),
    ],
)
def test_layer_types(text: str, einsum: str | None, operations: int) -> None:
    (layer,) = layers(f"Layer a {{ {text} }}")
    assert layer.operations == operations
    if einsum is not None:
        assert layer.einsum == einsum


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("Network n {\n Layer a { Type: COMV } }", 2, "did you mean 'CONV'?"),
        ("Network n {\n Layer a { Typ: CONV } }", 2, "did you mean 'Type'?"),
        (
            "Network n {\n Layer a { Type: CONV\n Dimensions { Q: 3 } } }",
            3,
            "unknown dimension 'Q'",
        ),
        ("Network n { Layer a { Type: CONV\n Dimensions { K: 0 } } }", 2, "from 1 to 2**40"),
        ("Network n { Layer a { Type: CONV", 1, "never closed"),
        ("Network n { Layer a { Type: GEMM\n Dimensions { K: 1 C: 2 } } }", 1, "no dimension 'C'"),
        ("Network n { Layer a { Type: CONV Dimensions { K: 1 } } }", 1, "needs dimension 'C'"),
        ("Network n { Layer a { Dimensions { K: 1 } } }", 1, "no 'Type'"),
        ("Netwerk n { }", 1, "did you mean 'Network'?"),
        (
            "Network n { Layer a { Type: NGCONV Dimensions "
            "{ G: 4, K: 2, C: 6, R: 1, S: 1, Y: 5, X: 5 } } }",
            1,
            "6 is no multiple of G",
        ),
        (
            "Network n { Layer a { Type: CONV Dimensions { K: 1 C: 1 R: 3 S: 1 Y: 2 X: 2 } } }",
            1,
            "R 3 is larger than Y 2",
        ),
    ],
)
def test_errors_of_networks_say_where_and_what_is_accepted(text: str, line: int, said: str) -> None:
    with pytest.raises(InputError) as caught:
        network_of(parse_network_text(text, "net.m"))
    assert said in caught.value.message
    assert (caught.value.source, caught.value.line) == ("net.m", line)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("TemporalMap(1,1) K;\nSpacialMap(1,1) C;", "did you mean 'SpatialMap'?"),
        ("TemporalMap(1,1)", "expected a dimension"),
        ("TemporalMap(1 1) K", "expected ','"),
        ("TemporalMap(T,1) K", "whole number"),
        ("Constant Tile 4; TemporalMap(Tyle,1) K", "did you mean 'Tile'?"),
        ("Cluster(4, Q)", "kind of cluster"),
        ("Dataflow { TemporalMap(1,1) K", "never closed"),
        ("", "has no directives"),
    ],
)
def test_errors_of_dataflows_say_where_and_what_is_accepted(text: str, said: str) -> None:
    with pytest.raises(InputError, match=r"flow\.m") as caught:
        parse_dataflow(text, "flow.m")
    assert said in caught.value.message


def test_layers_with_different_dataflows_need_a_name() -> None:
    text = (
        "Network n { Layer a { Type: FC Dimensions { K: 1 C: 2 } Dataflow { SpatialMap(1,1) K } }"
        " Layer b { Type: FC Dimensions { K: 1 C: 2 } Dataflow { SpatialMap(1,1) C } } }"
    )
    assert str(parse_dataflow(text, layer="b")) == "SpatialMap(1,1) C;\n"
    with pytest.raises(InputError, match="accepted: a, b"):
        parse_dataflow(text, layer="c")


def test_directives_are_told_from_other_texts() -> None:
    assert looks_like_directives(NETWORK)
    assert looks_like_directives("Dataflow { SpatialMap(1,1) K; }")
    assert not looks_like_directives("// SpatialMap(1,1) K\nmapping: []")


def test_the_styles_of_the_case_study_ship_with_their_source() -> None:
    assert style_names() == ["c-p", "kc-p", "x-p", "yr-p", "yx-p"]
    for name in style_names():
        assert "IEEE Micro 40(3), 2020" in load_style(name).source


@pytest.mark.parametrize("name", ["resnet50", "resnext50_32x4d", "mobilenet_v2", "unet", "gpt2"])
def test_networks_survive_the_format(name: str) -> None:
    network = load_network(name)
    text = dump_network(name, [(layer, None) for layer in network.layers])
    back = network_of(parse_network_text(text))
    assert all(same(one, other) for one, other in zip(back.layers, network.layers, strict=True))


def test_layers_that_the_format_lacks_are_refused() -> None:
    from tilewright.workload.operators import conv2d

    dilated = conv2d(K=2, C=2, P=3, Q=3, R=3, S=3, dilation=2)
    with pytest.raises(InputError, match="no layer type"):
        dump_network("n", [(dilated, None)])
