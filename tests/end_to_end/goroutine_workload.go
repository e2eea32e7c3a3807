// Goroutines that sleep in a function, so that other threads go on with them, and a recursion whose stacks grow and are
// moved. Prints how often each was called, and how long calls took.
package main

import (
	"fmt"
	"sync"
	"time"
)

//go:noinline
func wait(length time.Duration) time.Duration {
	start := time.Now()
	time.Sleep(length)
	return time.Since(start)
}

//go:noinline
func descend(depth int) int {
	var used [64]int
	used[depth%len(used)] = depth
	if depth == 0 {
		return used[0]
	}
	return descend(depth-1) + used[depth%len(used)]
}

//go:noinline
func leave(depth int) {
	if depth == 0 {
		panic("left")
	}
	leave(depth - 1)
}

//go:noinline
func recovered() {
	defer func() { recover() }()
	leave(3)
}

func main() {
	var all sync.WaitGroup
	var sum sync.Mutex
	var insideNs int64
	for i := 0; i < 40; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			for round := 0; round < 10; round++ {
				took := wait(10 * time.Millisecond)
				sum.Lock()
				insideNs += int64(took)
				sum.Unlock()
			}
			descend(249)
			for round := 0; round < 3; round++ {
				recovered()
			}
		}(i)
	}
	all.Wait()
	fmt.Printf("wait=%d descend=%d recovered=%d leave=%d inside_ns=%d\n", 400, 40*250, 40*3, 40*3*4, insideNs)
}
