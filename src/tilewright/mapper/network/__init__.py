"""The search for a network: every different layer once, in parallel, kept in a cache.

`network` shares time among the layers (`running`), `layer_search` searches one. `solved_layers`
keeps results under a key (`solution_key`) that has everything in it that they depend on, the code
included. What is found in the cache is confirmed by the model before it is returned. Tested in
`tests/mapper/network`.
"""
