package sizing

import "bellhop/protocol"

// costs are what one act takes of each station, in seconds of CPU.
type costs struct {
	request  perPart // a webhook request with a batch of events
	checkIn  perPart
	delivery perPart
	part     float64 // of the host, to one reader
	fsync    float64
}

type perPart struct{ broker, database, host float64 }

// costs turns figures into costs.
//
// The tables have no CPU time of a check-in. Little's law bounds it: 16 callers that wait for a time t have a rate of
// 16/t, so a check-in takes at most t/16 of the machine's cores. What the host's own route takes in the same run is
// the host's part; the remainder is divided between broker and PostgreSQL as that of an event is.
func (f Figures) costs(batch float64) (costs, error) {
	v := f.Values
	total, host := v["check-in.time"], v["check-in.host-time"]
	if total <= host {
		return costs{}, protocol.Errorf(protocol.CodeInvalid,
			"the figures of check-ins contradict each other: a check-in takes %v, its part on the host %v",
			seconds(total), seconds(host))
	}
	cores := v["machine.cores"] / callers
	share := v["broker.event"] / (v["broker.event"] + v["postgres.event"])
	return costs{
		request: perPart{
			broker:   batchCost(v["broker.event"], v["broker.batched-event"], batch),
			database: batchCost(v["postgres.event"], v["postgres.batched-event"], batch),
			host:     v["client.event"],
		},
		checkIn: perPart{
			broker: (total - host) * cores * share, database: (total - host) * cores * (1 - share), host: host * cores,
		},
		delivery: perPart{broker: v["delivery.broker"], database: v["delivery.postgres"]},
		part:     v["stream.host-cores"] / v["stream.parts"],
		fsync:    v["postgres.fsync"],
	}, nil
}

// batchCost is the cost of a request with some events, from that of one event alone and of one among 100: a part for
// the request and a part for each event.
func batchCost(alone, among100, batch float64) float64 {
	each := max(0, (100*among100-alone)/99)
	return alone - each + batch*each
}
