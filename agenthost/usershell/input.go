package usershell

import "encoding/binary"

// Type sends what a user typed. It does not wait for the programs of the terminal: ErrUnread, and nothing is sent, if
// they have left too much unread.
func (s *Shell) Type(text []byte) error {
	var frames []byte
	for len(text) > 0 {
		n := min(len(text), maxFrame)
		frames = appendFrame(frames, frameInput, text[:n])
		text = text[n:]
	}
	return s.send(frames, true)
}

// Resize changes the size of the terminal.
func (s *Shell) Resize(size Size) error {
	if err := size.Check(); err != nil {
		return err
	}
	return s.send(appendSize(nil, size), false)
}

// Redraw changes the size of the terminal twice, so that a program that uses all of it draws it again.
func (s *Shell) Redraw(size Size) error {
	if err := size.Check(); err != nil {
		return err
	}
	other := Size{Columns: size.Columns, Rows: size.Rows + 1}
	return s.send(appendSize(appendSize(nil, other), size), false)
}

func appendSize(frames []byte, size Size) []byte {
	body := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, size.Columns), size.Rows)
	return appendFrame(frames, frameSize, body)
}

func (s *Shell) send(frames []byte, typed bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if typed {
		s.active = s.now()
	}
	if len(s.frames)+len(frames) > maxUnread {
		return ErrUnread
	}
	s.frames = append(s.frames, frames...)
	s.typed.Broadcast()
	return nil
}

// write passes frames on to the helper until the shell ends.
func (s *Shell) write() {
	for {
		s.mu.Lock()
		for len(s.frames) == 0 && !s.ended {
			s.typed.Wait()
		}
		frames, ended := s.frames, s.ended
		s.frames = nil
		s.mu.Unlock()
		if ended {
			return
		}
		if _, err := s.child.Stdin().Write(frames); err != nil {
			return
		}
	}
}
