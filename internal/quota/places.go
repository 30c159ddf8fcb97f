package quota

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// The errors of Take.
var (
	ErrOwn  = errors.New("there are as many already as one may have")
	ErrFull = errors.New("there is no room for more")
)

// Places are so many, and each owner has a part of them only. When all are taken, the owner that has most
// gives up the one that was not used for longest, unless who comes would have as many: so those who make
// room do not come back and take it. It is safe for concurrent use.
type Places[K comparable] struct {
	most, ofOne int

	mu    sync.Mutex
	taken []*Place[K]
}

// Place is one of them.
type Place[K comparable] struct {
	of    *Places[K]
	owner K
	end   func()
	// busy and used are guarded by of.mu.
	busy bool
	used time.Time
}

// New returns so many places in all, and of one owner.
func New[K comparable](most, ofOne int) *Places[K] { return &Places[K]{most: most, ofOne: ofOne} }

// Take takes a place; Leave gives it back. end is called once the place is another's; it does not wait.
func (p *Places[K]) Take(owner K, end func()) (*Place[K], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	each := map[K]int{}
	for _, o := range p.taken {
		each[o.owner]++
	}
	if each[owner] >= p.ofOne {
		return nil, ErrOwn
	}
	if len(p.taken) >= p.most && !p.makeRoom(each, each[owner]+1) {
		return nil, ErrFull
	}
	one := &Place[K]{of: p, owner: owner, end: end, used: time.Now()}
	p.taken = append(p.taken, one)
	return one, nil
}

// makeRoom ends a place of the owner that has most, if that is more than so many. mu is held.
func (p *Places[K]) makeRoom(each map[K]int, than int) bool {
	for _, n := range each {
		than = max(than, n-1)
	}
	var old *Place[K]
	for _, o := range p.taken {
		if each[o.owner] > than && (old == nil || old.busy && !o.busy || old.busy == o.busy && o.used.Before(old.used)) {
			old = o
		}
	}
	if old == nil {
		return false
	}
	p.remove(old)
	old.end()
	return true
}

func (p *Places[K]) remove(one *Place[K]) {
	if i := slices.Index(p.taken, one); i >= 0 {
		p.taken = slices.Delete(p.taken, i, i+1)
	}
}

// Use notes that the place is used, and whether for longer: one that is busy makes room last.
func (one *Place[K]) Use(busy bool) {
	one.of.mu.Lock()
	defer one.of.mu.Unlock()
	one.busy, one.used = busy, time.Now()
}

// Leave gives the place back, where it is not another's already.
func (one *Place[K]) Leave() {
	one.of.mu.Lock()
	defer one.of.mu.Unlock()
	one.of.remove(one)
}
