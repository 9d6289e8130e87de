-- anew: where a draw places visitors who came before people gathered for it.
-- Both are in the table aside, since Lua allows 200 locals a script.
--@include come_back

-- arrives returns the arrival of one who arrives now; drawn: the draw gives a score.
function aside.arrives(z, drawn)
  local arrived = z.now_micros > z.last_micros and z.now_micros or z.last_micros + 1
  if not drawn and (arrived < z.draw_behind or arrived < z.draw_upto) then
    arrived = behind(z, arrived)
  end
  z.last_micros = arrived
  return arrived
end

-- place_anew has a visitor arrive now who came before people gathered for a draw: nobody stands before all who
-- gather. arrived is the token's arrival. stands is where the visitor is in the line, nil if nowhere. It returns the
-- new arrival and where that stands: by the score of the draw, or behind all once the draw is closed; nil if the draw
-- is open, and score is none of it.
function aside.place_anew(z, t, id, arrived, stands, score)
  if t.draws and not scores(z, score) then
    return nil
  end
  forget(z, t, id, arrived, stands and stands <= z.edge_micros)
  arrived = aside.arrives(z, t.draws)
  score = t.draws and score or arrived
  aside.put_back(z, t, id, score)
  aside.note(z, t, id, score, arrived)
  return arrived, score
end
