// X-P: output columns in parallel, weight-stationary.
// H. Kwon et al., MAESTRO, IEEE Micro 40(3), 2020, Figure 4(a);
// H. Kwon et al., Understanding Reuse, Performance, and Hardware Cost of DNN Dataflow, MICRO 2019,
// Table 3; batch and groups (N, G) added, one at a time.
Dataflow {
  TemporalMap(1,1) N;
  TemporalMap(1,1) G;
  TemporalMap(1,1) K;
  TemporalMap(1,1) C;
  TemporalMap(Sz(R),Sz(R)) R;
  TemporalMap(Sz(S),Sz(S)) S;
  TemporalMap(Sz(R),1) Y;
  SpatialMap(Sz(S),1) X;
}
