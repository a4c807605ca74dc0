// YR-P: output rows and filter rows in parallel, row-stationary, as in Eyeriss.
// H. Kwon et al., MAESTRO, IEEE Micro 40(3), 2020, Figure 4(a);
// H. Kwon et al., Understanding Reuse, Performance, and Hardware Cost of DNN Dataflow, MICRO 2019,
// Table 3; batch and groups (N, G) added, one at a time.
Dataflow {
  TemporalMap(1,1) N;
  TemporalMap(1,1) G;
  TemporalMap(2,2) C;
  TemporalMap(2,2) K;
  SpatialMap(Sz(R),1) Y;
  TemporalMap(Sz(S),1) X;
  TemporalMap(Sz(R),Sz(R)) R;
  TemporalMap(Sz(S),Sz(S)) S;
  Cluster(Sz(R),P);
  SpatialMap(1,1) Y;
  SpatialMap(1,1) R;
}
