"""The mapper: what is best, with the proof that nothing is better.

Stations on the way of a call, each of which imports only those before it:

1. `objective`: what is minimised.
2. `problem`: a layer on a machine as arrays: shapes, spatial choices, bypass choices, link costs,
   constraint rules, symmetry.
3. `results`: what users receive.
4. `windows`: how many operations a word of a sliding tensor serves.
5. `label`: partial mappings, what a store node costs them, and which of two is superfluous.
6. `relaxations`: bounds of all tile sizes, without a search.
7. `bounds`: what every completion of a label costs at least.
8. `engine`: the compiled search that extends labels, through loops, store nodes and arrays.
9. `heuristics`: good mappings to begin with.
10. `canonical`: which of equal mappings is returned.
11. `search`: one layer: bypass choices best first; feasibility, fronts, all tile sizes.
12. `memory_sizes`: the best cost for every size of a memory.
13. `network`: every different layer once, in parallel, with a cache.
14. `fused`: which layers share loops, and the best tree of each segment of them.
15. `pipelined`: mappings under pipelined latency.
16. `variants`: machines that retain optimally, and those that move blocks.
17. `styles`: one style for all layers.
18. `explain`: what limits an optimum.

`tilewright.map` calls `network.network.map_network`. It hands each different layer to
`network.layer_search`, which calls `search.search.Search.solve` and then
`search.all_sizes.all_tile_sizes.with_all_sizes`. docs/how-it-works has the way of this call from
file to file, and which file relies on which proof (`proofs.md`); the proofs themselves are in
docs/mapper.md.
"""
