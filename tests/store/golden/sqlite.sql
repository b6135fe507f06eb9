-- claiming.CLAIM_THINK
UPDATE active
SET phase='think', wait_reason=NULL, claimed_sent_at=CASE WHEN (active.quarantined IS 1) THEN NULL ELSE CASE WHEN
    (active.sent_at - active.due_at > 0.25) THEN NULL ELSE active.sent_at END END, token=:key_token,
    worker_id=:key_worker, lease_until=(coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)) + active.call_limit_s
    + :lease_s)
WHERE active.run_id = :key_run AND active.step = :key_step AND active.attempt = :key_attempt AND (active.phase = 'think'
    OR active.phase = 'wait') AND active.token IS NULL AND active.due_at <= coalesce(:now, ((julianday('now') -
    2440587.5) * 86400.0)) + 0.05 AND active.paused IS 0 AND active.parked IS NULL AND (active.deadline_at IS NULL OR
    active.deadline_at > coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)))
RETURNING phase, step, attempt, failures, deaths, quarantined, pending, malformed, final_reason, last_words, folds,
    output_raises, cost_usd, reserved_usd, allotment_usd, batch_id, klass, config_hash, queue, call_limit_s;

-- claiming.LOCK_TO_START
SELECT active.batch_id, active.config_hash
FROM active
WHERE active.run_id = :key_run AND active.step = :key_step AND active.phase = 'act' AND (active.deadline_at IS NULL OR
    active.deadline_at > coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)));

-- claiming.LOCK_TO_CLAIM
SELECT active.batch_id, active.config_hash
FROM active
WHERE active.run_id = :key_run AND active.step = :key_step AND active.phase = 'act' AND (active.deadline_at IS NULL OR
    active.deadline_at > coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0))) AND active.paused IS 0 AND
    active.parked IS NULL;

-- claiming.CLAIM_CALL
UPDATE tool_calls
SET state='running', wait_reason=NULL, claimed_sent_at=CASE WHEN (tool_calls.sent_at - tool_calls.due_at > 0.25) THEN
    NULL ELSE tool_calls.sent_at END, token=:key_token, worker_id=:key_worker, lease_until=(coalesce(:now,
    ((julianday('now') - 2440587.5) * 86400.0)) + :lease_s)
WHERE tool_calls.run_id = :key_run AND tool_calls.step = :key_step AND tool_calls.call = :key_call AND
    tool_calls.attempt = :key_attempt AND tool_calls.state = 'pending' AND tool_calls.due_at <= coalesce(:now,
    ((julianday('now') - 2440587.5) * 86400.0)) + 0.05 AND tool_calls.held IS NULL
RETURNING tool, args, attempt, failures, deaths, quarantined, queue;

-- claiming.START_IN_BATCH
UPDATE tool_calls
SET started_at=coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0))
WHERE tool_calls.run_id = :key_run AND tool_calls.step = :key_step AND tool_calls.call = :key_call AND tool_calls.token
    = :key_token AND tool_calls.lease_until > coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)) AND
    tool_calls.started_at IS NULL AND (EXISTS (SELECT *
FROM batches
WHERE batches.id = :key_batch AND batches.state = 'open'));

-- claiming.NOTE_START
UPDATE attempts
SET started_at=coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0))
WHERE attempts.token = :key_token;

-- claiming.WRITE_ATTEMPT
INSERT INTO attempts (token, run_id, step, call, attempt, worker_id, queue, claimed_at, deadline_at)
SELECT :key_token AS anon_1, :key_run AS anon_2, :key_step AS anon_3, :key_call AS anon_4, :key_attempt AS anon_5,
    :key_worker AS anon_6, :new_queue AS anon_7, coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)) AS
    coalesce_1, coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)) + :lease_s AS anon_8
WHERE (EXISTS (SELECT *
FROM workers
WHERE workers.id = :key_worker AND workers.state = 'up')) AND (EXISTS (SELECT *
FROM batches
WHERE batches.id = :key_batch AND batches.state = 'open' AND batches.paused_reason IS NULL))
RETURNING token;

-- claiming.RESERVE
UPDATE attempts
SET reserved_usd=:bound_usd
WHERE attempts.token = :key_token AND attempts.ended_at IS NULL
RETURNING token;

-- applying.MOVE
UPDATE active
SET phase=:new_phase, step=:new_step, attempt=:new_attempt, failures=:new_failures, deaths=:new_deaths,
    quarantined=:new_quarantined, pending=:new_pending, malformed=:new_malformed, final_reason=:new_final_reason,
    last_words=:new_last_words, folds=:new_folds, output_raises=:new_output_raises, prompt_tokens=(active.prompt_tokens
    + :used_prompt_tokens), cached_tokens=(active.cached_tokens + :used_cached_tokens),
    completion_tokens=(active.completion_tokens + :used_completion_tokens), cost_usd=(active.cost_usd + :used_cost_usd),
    unpriced=(active.unpriced + :used_unpriced), attempts=(active.attempts + :used_attempts),
    wasted_tokens=(active.wasted_tokens + :used_wasted_tokens), wasted_cost_usd=(active.wasted_cost_usd +
    :used_wasted_cost_usd), wasted_s=(active.wasted_s + :used_wasted_s), wasted_attempts=(active.wasted_attempts +
    :used_wasted_attempts), reserved_usd=(active.reserved_usd + :used_reserved_usd), event=(active.event + 1),
    due_at=(coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)) + :due_in_s), wait_reason=:new_wait_reason,
    sent_at=(coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)) + :due_in_s), token=NULL, worker_id=NULL,
    lease_until=NULL, parked=:new_parked, parked_target=:new_parked_target, parked_at=CASE WHEN (:new_parked IS NOT
    NULL) THEN coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)) ELSE NULL END
WHERE active.run_id = :key_run AND active.token = :key_token
RETURNING run_id, klass, event;

-- applying.NEXT_STEP
UPDATE active
SET phase=:new_phase, step=:new_step, attempt=:new_attempt, failures=:new_failures, deaths=:new_deaths,
    quarantined=:new_quarantined, pending=:new_pending, prompt_tokens=(active.prompt_tokens + :used_prompt_tokens),
    cached_tokens=(active.cached_tokens + :used_cached_tokens), completion_tokens=(active.completion_tokens +
    :used_completion_tokens), cost_usd=(active.cost_usd + :used_cost_usd), unpriced=(active.unpriced + :used_unpriced),
    attempts=(active.attempts + :used_attempts), wasted_tokens=(active.wasted_tokens + :used_wasted_tokens),
    wasted_cost_usd=(active.wasted_cost_usd + :used_wasted_cost_usd), wasted_s=(active.wasted_s + :used_wasted_s),
    wasted_attempts=(active.wasted_attempts + :used_wasted_attempts), reserved_usd=(active.reserved_usd +
    :used_reserved_usd), event=(active.event + 1), due_at=coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)),
    wait_reason=NULL, sent_at=coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)), token=NULL, worker_id=NULL,
    lease_until=NULL
WHERE active.run_id = :key_run
RETURNING run_id, klass, event;

-- applying.COUNT_CALL
UPDATE active
SET pending=:new_pending, prompt_tokens=(active.prompt_tokens + :used_prompt_tokens),
    cached_tokens=(active.cached_tokens + :used_cached_tokens), completion_tokens=(active.completion_tokens +
    :used_completion_tokens), cost_usd=(active.cost_usd + :used_cost_usd), unpriced=(active.unpriced + :used_unpriced),
    attempts=(active.attempts + :used_attempts), wasted_tokens=(active.wasted_tokens + :used_wasted_tokens),
    wasted_cost_usd=(active.wasted_cost_usd + :used_wasted_cost_usd), wasted_s=(active.wasted_s + :used_wasted_s),
    wasted_attempts=(active.wasted_attempts + :used_wasted_attempts), reserved_usd=(active.reserved_usd +
    :used_reserved_usd), event=(active.event + 1)
WHERE active.run_id = :key_run
RETURNING run_id, klass, event;

-- applying.LEAVE
DELETE
FROM active
WHERE active.run_id = :key_run
RETURNING run_id, batch_id, owner_id, klass, config_hash, phase, step, attempt, failures, deaths, quarantined, pending,
    malformed, final_reason, last_words, folds, output_raises, prompt_tokens, cached_tokens, completion_tokens,
    cost_usd, unpriced, attempts, wasted_tokens, wasted_cost_usd, wasted_s, wasted_attempts, reserved_usd,
    allotment_usd, due_at, wait_reason, queue, sent_at, claimed_sent_at, token, worker_id, lease_until, call_limit_s,
    paused, parked, parked_target, parked_at, deadline_at, admitted_at, charged, event + 1 AS event;

-- applying.LEAVE_UNDER_LEASE
DELETE
FROM active
WHERE active.run_id = :key_run AND active.token = :key_token
RETURNING run_id, batch_id, owner_id, klass, config_hash, phase, step, attempt, failures, deaths, quarantined, pending,
    malformed, final_reason, last_words, folds, output_raises, prompt_tokens, cached_tokens, completion_tokens,
    cost_usd, unpriced, attempts, wasted_tokens, wasted_cost_usd, wasted_s, wasted_attempts, reserved_usd,
    allotment_usd, due_at, wait_reason, queue, sent_at, claimed_sent_at, token, worker_id, lease_until, call_limit_s,
    paused, parked, parked_target, parked_at, deadline_at, admitted_at, charged, event + 1 AS event;

-- applying.LOCK_ACTING
SELECT active.run_id, active.batch_id, active.owner_id, active.klass, active.config_hash, active.phase, active.step,
    active.attempt, active.failures, active.deaths, active.quarantined, active.pending, active.malformed,
    active.final_reason, active.last_words, active.folds, active.output_raises, active.prompt_tokens,
    active.cached_tokens, active.completion_tokens, active.cost_usd, active.unpriced, active.attempts,
    active.wasted_tokens, active.wasted_cost_usd, active.wasted_s, active.wasted_attempts, active.reserved_usd,
    active.allotment_usd, active.event, active.due_at, active.wait_reason, active.queue, active.sent_at,
    active.claimed_sent_at, active.token, active.worker_id, active.lease_until, active.call_limit_s, active.paused,
    active.parked, active.parked_target, active.parked_at, active.deadline_at, active.admitted_at, active.charged
FROM active
WHERE active.run_id = :key_run AND active.step = :key_step AND active.phase = 'act';

-- applying.CALL_UNDER_LEASE
SELECT tool_calls.run_id, tool_calls.step, tool_calls.call, tool_calls.tool, tool_calls.args, tool_calls.call_id,
    tool_calls.state, tool_calls.outcome, tool_calls.observation, tool_calls.queue, tool_calls.held, tool_calls.attempt,
    tool_calls.failures, tool_calls.deaths, tool_calls.quarantined, tool_calls.due_at, tool_calls.wait_reason,
    tool_calls.sent_at, tool_calls.claimed_sent_at, tool_calls.token, tool_calls.worker_id, tool_calls.lease_until,
    tool_calls.started_at, tool_calls.finished_at, tool_calls.event
FROM tool_calls
WHERE tool_calls.run_id = :key_run AND tool_calls.step = :key_step AND tool_calls.call = :key_call AND tool_calls.token
    = :key_token AND tool_calls.state = 'running';

-- applying.FINISH_CALL
UPDATE tool_calls
SET state='done', outcome=:new_outcome, observation=:new_observation, worker_id=NULL, lease_until=NULL,
    finished_at=coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)), event=:new_event
WHERE tool_calls.run_id = :key_run AND tool_calls.step = :key_step AND tool_calls.call = :key_call;

-- applying.RETURN_CALL
UPDATE tool_calls
SET state='pending', queue=:new_queue, attempt=:new_attempt, failures=:new_failures, deaths=:new_deaths,
    quarantined=:new_quarantined, due_at=(coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)) + :due_in_s),
    wait_reason=:new_wait_reason, sent_at=(coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)) + :due_in_s),
    claimed_sent_at=CASE WHEN (tool_calls.queue = :new_queue) THEN tool_calls.claimed_sent_at ELSE NULL END, token=NULL,
    worker_id=NULL, lease_until=NULL, started_at=NULL
WHERE tool_calls.run_id = :key_run AND tool_calls.step = :key_step AND tool_calls.call = :key_call;

-- applying.NEW_CALL
INSERT INTO tool_calls (run_id, step, call, tool, args, call_id, state, outcome, observation, queue, held, due_at,
    sent_at, event) VALUES (:key_run, :key_step, :call_call, :call_tool, :call_args, :call_call_id, :call_state,
    :call_outcome, :call_observation, :call_queue, :call_held, coalesce(:now, ((julianday('now') - 2440587.5) *
    86400.0)), coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)), :new_event);

-- applying.STEP
INSERT INTO steps (run_id, step, kind, reply, kept, message, thought, notice, answer, finish_reason, model,
    prompt_tokens, cached_tokens, completion_tokens, cost_usd, latency_s, token, event, created_at, extras, endpoint_id)
    VALUES (:key_run, :key_step, :step_kind, :step_reply, :step_kept, :step_message, :step_thought, :step_notice,
    :step_answer, :step_finish_reason, :step_model, :used_prompt_tokens, :used_cached_tokens, :used_completion_tokens,
    :spent_cost_usd, :step_latency_s, :key_token, :new_event, coalesce(:now, ((julianday('now') - 2440587.5) *
    86400.0)), :step_extras, :step_endpoint_id);

-- applying.CLOSE_ATTEMPT
UPDATE attempts
SET ended_at=coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)), outcome=:spent_outcome, error=:spent_error,
    prompt_tokens=:used_prompt_tokens, cached_tokens=:used_cached_tokens, completion_tokens=:used_completion_tokens,
    cost_usd=:spent_cost_usd, reserved_usd=:spent_reserved_usd, wasted=:spent_wasted, event=:new_event
WHERE attempts.token = :key_token;

-- applying.END_RUN
UPDATE runs
SET state=:end_state, error_code=:end_error_code, error_message=:end_error_message, answer=:end_answer,
    partial_answer=:end_partial_answer, steps=:end_steps, prompt_tokens=:final_prompt_tokens,
    cached_tokens=:final_cached_tokens, completion_tokens=:final_completion_tokens, cost_usd=:final_cost_usd,
    unpriced=:final_unpriced, attempts=:final_attempts, wasted_tokens=:final_wasted_tokens,
    wasted_cost_usd=:final_wasted_cost_usd, wasted_s=:final_wasted_s, wasted_attempts=:final_wasted_attempts,
    reserved_usd=:final_reserved_usd, event=:new_event, finished_at=coalesce(:now, ((julianday('now') - 2440587.5) *
    86400.0))
WHERE runs.id = :key_run;

-- applying.ENDING
INSERT INTO endings (run_id, batch_id, owner_id, state, error_code, steps, charged, prompt_tokens, cached_tokens,
    completion_tokens, cost_usd, unpriced, attempts, wasted_tokens, wasted_cost_usd, wasted_s, wasted_attempts,
    reserved_usd, ended_at) VALUES (:key_run, :final_batch_id, :final_owner_id, :end_state, :end_error_code, :end_steps,
    :final_charged, :final_prompt_tokens, :final_cached_tokens, :final_completion_tokens, :final_cost_usd,
    :final_unpriced, :final_attempts, :final_wasted_tokens, :final_wasted_cost_usd, :final_wasted_s,
    :final_wasted_attempts, :final_reserved_usd, coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)));

-- applying.FACTS
SELECT coalesce(:now, ((julianday('now') - 2440587.5) * 86400.0)) - attempts.claimed_at AS held_s, attempts.reserved_usd
FROM attempts
WHERE attempts.token = :key_token;
