// A program with a hot call through a function that is too large to be inlined without a profile.
package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"sort"
)

type point struct{ x, y, z float64 }

// weigh costs more than the inliner's budget of 80, and less than that of hot call sites.
func weigh(p *point, k int) float64 {
	s := p.x*p.x + p.y*p.y + p.z*p.z
	if k&1 == 0 {
		s += p.x * p.y
	} else {
		s -= p.y * p.z
	}
	if k&2 == 0 {
		s += p.x * p.z
	} else {
		s -= p.x*p.y*p.z + 1
	}
	if k&4 == 0 {
		s = s*1.0001 + p.z*p.z
	} else {
		s = s*0.9999 - p.z + p.x
	}
	if s > 1e12 {
		s = s / 1e6
	}
	return s
}

func sum(points []point) float64 {
	total := 0.0
	for i := range points {
		total += weigh(&points[i], i)
	}
	return total
}

func smooth(points []point) {
	for i := 1; i+1 < len(points); i++ {
		points[i].x = (points[i-1].x + points[i].x + points[i+1].x) / 3
		points[i].y = (points[i-1].y + points[i].y + points[i+1].y) / 3
	}
}

type byX []point

func (a byX) Len() int           { return len(a) }
func (a byX) Less(i, j int) bool { return a[i].x < a[j].x }
func (a byX) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }

func order(points []point) {
	sort.Sort(byX(points))
}

func main() {
	rounds := 400
	if len(os.Args) > 1 {
		fmt.Sscan(os.Args[1], &rounds)
	}
	if len(os.Args) > 2 {
		f, err := os.Create(os.Args[2])
		if err != nil {
			panic(err)
		}
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	points := make([]point, 20000)
	for i := range points {
		points[i] = point{float64(i * 7919 % 10007), float64(i * 31 % 997), float64(i%13) + 1}
	}
	total := 0.0
	for r := 0; r < rounds; r++ {
		for k := 0; k < 10; k++ {
			total += sum(points)
		}
		smooth(points)
		if r%8 == 0 {
			order(points)
		}
	}
	fmt.Println(total)
}
