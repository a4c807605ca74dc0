// KC-P: output and input channels in parallel, weight-stationary, as in NVDLA.
// H. Kwon et al., MAESTRO, IEEE Micro 40(3), 2020, Figure 4(a);
// H. Kwon et al., Understanding Reuse, Performance, and Hardware Cost of DNN Dataflow, MICRO 2019,
// Table 3; batch and groups (N, G) added, one at a time.
Dataflow {
  TemporalMap(1,1) N;
  TemporalMap(1,1) G;
  SpatialMap(1,1) K;
  TemporalMap(64,64) C;
  TemporalMap(Sz(R),Sz(R)) R;
  TemporalMap(Sz(S),Sz(S)) S;
  TemporalMap(Sz(R),1) Y;
  TemporalMap(Sz(S),1) X;
  Cluster(64,P);
  SpatialMap(1,1) C;
}
