//go:build !kubernetes1.34 && !kubernetes1.35

package main

// balanced is what the pod makes of the balance of cpu and memory, of node a and of node b with another pod.
var balanced = map[string]int64{"a": 68, "b": 69}
