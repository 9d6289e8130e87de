package zone

// Challenge is what a join has to show.
type Challenge string

// The challenges.
const (
	ChallengeNone      Challenge = "none"
	ChallengeWork      Challenge = "work"
	ChallengeTurnstile Challenge = "turnstile"
	ChallengeHCaptcha  Challenge = "hcaptcha"
	ChallengeReCaptcha Challenge = "recaptcha"
)

// Values of ChallengeWhen and of ChallengeWithoutScript.
const (
	// ChallengeInLine asks while there is a line or people gather.
	ChallengeInLine = "line"
	ChallengeAlways = "always"
	// WithoutScriptRefuse and WithoutScriptWait say what becomes of who cannot do the work.
	WithoutScriptRefuse = "refuse"
	WithoutScriptWait   = "wait"
)

// Bounds of the work.
const (
	// DefaultChallengeMillis leaves a core sixty places a minute, and is hardly noticed by a visitor.
	DefaultChallengeMillis = 1_000
	MinChallengeMillis     = 500
	MaxChallengeMillis     = 5_000
)

// Challenges reports whether a join may have to show a proof. In a zone that admits everybody, or takes no newcomers, it need not.
func (s Settings) Challenges() bool {
	return s.Challenge != ChallengeNone && s.InForce().Mode == ModeQueue
}
