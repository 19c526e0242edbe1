//go:build kubernetes1.34 || kubernetes1.35

package main

// balanced scores the balance of cpu and memory with the pod, on node a and on node b with another pod.
var balanced = map[string]int64{"a": 87, "b": 75}
