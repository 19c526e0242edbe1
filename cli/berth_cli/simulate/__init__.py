"""`berth simulate`: place the pods of a cluster dump as kube-scheduler with Berth would."""
