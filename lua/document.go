package lua

import (
	"context"
	"fmt"

	"github.com/openqueue/waitingroom/internal/line"
)

// Outcomes of put_document.lua.
const (
	documentDiffers = 1
	documentNewer   = 2
	documentMoved   = 3
	documentSame    = 4
)

// bookKey is where a document lies. A colon is in no zone's name, so that it is no zone's.
func (s *Store) bookKey(name string) string { return s.prefix + "{" + name + "}:book" }

// Document implements line.Documents.
func (s *Store) Document(ctx context.Context, name string) (d line.Document, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.call)
	defer cancel()
	v, err := s.client.HMGet(ctx, s.bookKey(name), "json", formatField, "version").Result()
	if err != nil {
		return d, s.failed(ctx, "document", err)
	}
	err = checkFormat("the document "+name, v[1], documentFormat)
	s.finds(reason(name), err)
	if err != nil {
		return d, err
	}
	d.Text, _ = v[0].(string) // there is none
	if text, ok := v[2].(string); ok {
		if _, err := fmt.Sscan(text, &d.Version); err != nil {
			return line.Document{}, fmt.Errorf("lua: the document %s is damaged: version %q", name, text)
		}
	}
	return d, nil
}

// PutDocument implements line.Documents. All records of the notes lie on the document's node.
func (s *Store) PutDocument(ctx context.Context, name string, d line.Document, was int64, notes ...line.Note) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	for range maxTries {
		keys, args := []string{s.bookKey(name)}, []any{was, d.Version, d.Text}
		var added []addition
		for _, n := range notes {
			a, err := s.compose(ctx, n.Record, n.Batch, 0)
			if err != nil {
				return err
			}
			keys, args, added = append(keys, s.recordKeys(n.Record)...), append(args, a.text), append(added, a)
		}
		switch reply, err := s.run(ctx, putDocumentScript, keys, args...); {
		case err != nil:
			return err
		case reply == int64(documentDiffers):
			return line.ErrDocumentChanged
		case reply == int64(documentNewer):
			return newer("the document "+name+" has another", documentFormat)
		case reply == int64(documentSame):
			return nil
		case reply == int64(0):
			for _, a := range added {
				s.sealer.Added(a.name, a.Addition)
			}
			return nil
		case reply != int64(documentMoved):
			return fmt.Errorf("lua: put_document: reply is %v", reply)
		}
	}
	return line.ErrDocumentChanged
}
