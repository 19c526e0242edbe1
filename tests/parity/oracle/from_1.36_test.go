//go:build !kubernetes1.34 && !kubernetes1.35

package main

// balanced scores how the pod changes the balance of cpu and memory, on node a and on node b with another pod.
var balanced = map[string]int64{"a": 68, "b": 69}
