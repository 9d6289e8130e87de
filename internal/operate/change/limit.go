package change

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Policies are what can be set of a policy of limits besides its name.
var Policies = setting.Table[limit.Policy]{
	{
		Name: "rules", At: func(p *limit.Policy) any { return &p.Rules }, Of: "a list of rules", Label: "Rules",
		Say: func(p limit.Policy) string { return exactly(p.Rules) },
	},
	{
		Name: "tiers", At: func(p *limit.Policy) any { return &p.Tiers }, Of: "rules by tier", Label: "Tiers",
		Say: func(p limit.Policy) string {
			return joined(slices.Sorted(maps.Keys(p.Tiers)), "; ", func(tier string) string { return tier + ": " + exactly(p.Tiers[tier]) })
		},
	},
	{
		Name: "key", At: func(p *limit.Policy) any { return &p.Key }, Of: "a list of ip, apiKey and jwt", Label: "Told apart by",
		Say: func(p limit.Policy) string { return KeyWords(p.Key) },
	},
	{
		Name: "onStoreFailure", At: func(p *limit.Policy) any { return (*string)(&p.OnStoreFailure) }, Default: string(limit.FailureLocal),
		Label: "When the store is away",
		Choices: []setting.Choice{
			{Value: string(limit.FailureLocal), Label: "local: each server its share"}, {Value: string(limit.FailureOpen), Label: "open: let all through"},
			{Value: string(limit.FailureClosed), Label: "closed: refuse all"},
		},
	},
	{
		Name: "scope", At: func(p *limit.Policy) any { return (*string)(&p.Scope) }, Default: string(limit.ScopeShared),
		Label: "Counted",
		Choices: []setting.Choice{
			{Value: string(limit.ScopeShared), Label: "shared: by the store"}, {Value: string(limit.ScopeServer), Label: "server: each for itself"},
		},
	},
}

// Tiers are the names of a policy's tiers, the default one first.
func Tiers(p limit.Policy) []string {
	return append([]string{limit.DefaultTier}, slices.Sorted(maps.Keys(p.Tiers))...)
}

// RulesOf are a tier's rules, the policy's own; none for a tier that it does not have.
func RulesOf(p limit.Policy, tier string) []limit.Rule {
	if tier == limit.DefaultTier {
		return p.Rules
	}
	return p.Tiers[tier]
}

// PolicyLoss says what is lost with a policy that is deleted.
func PolicyLoss(p limit.Policy) Says {
	return Says{
		{Warn: true, Text: "Nobody is limited by " + p.Name + " any more: the waiting room itself lets everybody pass, " +
			"and services that ask for it are told that there is no such policy."},
		{Text: "It is not made again from the configuration. The record of changes keeps what it was."},
	}
}

// Away says what becomes of who asks while the store is away: in two words, and in a sentence.
func Away(p limit.Policy) (words, sentence string) {
	switch p.OnStoreFailure {
	case limit.FailureOpen:
		words, sentence = "allowed", "Requests are allowed meanwhile."
	case limit.FailureClosed:
		words, sentence = "refused", "Requests are refused meanwhile."
	default:
		words, sentence = "by share", "Each server allows its share of the limit meanwhile."
	}
	if p.Scope == limit.ScopeServer {
		words = "not asked"
	}
	return words, sentence
}

// Fitted says of which zones the figures of a policy are that the guard fits to each zone;
// "" for other policies.
func Fitted(p limit.Policy) string {
	if p.Name != guard.JoinsZone {
		return ""
	}
	return fmt.Sprintf("This is for a zone with a limit of %s a minute. For others it is in proportion to their limit.", count(zone.DefaultPerMinute))
}

// RuleWords say what rules allow together: 100 in any 60 s, and 20 in each 10 s of the clock.
func RuleWords(rules []limit.Rule) string { return joined(rules, ", and ", ruleWord) }

func ruleWord(r limit.Rule) string {
	n, window := count(r.Limit), length(r.WindowSeconds)
	switch r.Algorithm {
	case limit.SlidingLog:
		return fmt.Sprintf("%s in any %s", n, window)
	case limit.SlidingCounter:
		return fmt.Sprintf("about %s in any %s", n, window)
	case limit.TokenBucket:
		return fmt.Sprintf("%s in %s and %s at once", n, window, count(r.Permits()))
	case limit.LeakyBucket:
		return fmt.Sprintf("%s in %s, evenly, while %s wait", n, window, count(r.Burst))
	case limit.FixedWindow:
		return fmt.Sprintf("%s in each %s of the clock", n, window)
	default:
		return fmt.Sprintf("%s in %s, by %s", n, window, AlgorithmWord(r.Algorithm))
	}
}

// exactly says all of rules: they differ if this does.
func exactly(rules []limit.Rule) string {
	return joined(rules, ", and ", func(r limit.Rule) string { return fmt.Sprintf("%s (%s)", ruleWord(r), AlgorithmWord(r.Algorithm)) })
}

// AlgorithmWord is an algorithm's name for a person.
func AlgorithmWord(a limit.Algorithm) string { return strings.ReplaceAll(string(a), "_", " ") }

// length is a window's: 60 s, 5 min, 24 h.
func length(secs int64) string {
	switch {
	case secs%3600 == 0:
		return count(secs/3600) + " h"
	case secs > 60 && secs%60 == 0:
		return count(secs/60) + " min"
	default:
		return seconds(secs)
	}
}

// KeyWords say by what clients are told apart.
func KeyWords(key []limit.Source) string {
	return joined(key, ", else ", func(k limit.Source) string {
		switch k {
		case limit.SourceAPIKey:
			return "API key"
		case limit.SourceJWT:
			return "claim of a token"
		default:
			return "address"
		}
	})
}

// joined are the words of all, with a text between; "none" for nothing.
func joined[T any](all []T, between string, word func(T) string) string {
	if len(all) == 0 {
		return "none"
	}
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = word(one)
	}
	return strings.Join(words, between)
}
