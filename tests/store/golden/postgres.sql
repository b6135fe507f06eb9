-- postgres.CLAIM_THINK
WITH locked AS
(SELECT active.run_id AS run_id
FROM active
WHERE active.run_id = %(key_run)s::VARCHAR AND active.step = %(key_step)s::BIGINT AND active.attempt =
    %(key_attempt)s::BIGINT AND (active.phase = 'think' OR active.phase = 'wait') AND active.token IS NULL AND
    active.due_at <= coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) + 0.05 AND active.paused IS false
    AND active.parked IS NULL AND (active.deadline_at IS NULL OR active.deadline_at > coalesce(%(now)s, extract(epoch
    from clock_timestamp())::float8)) AND (EXISTS (SELECT *
FROM workers
WHERE workers.id = %(key_worker)s::VARCHAR AND workers.state = 'up')) AND (SELECT true AS anon_8
FROM batches
WHERE batches.id = active.batch_id AND batches.state = 'open' AND batches.paused_reason IS NULL) FOR UPDATE OF active
    SKIP LOCKED),
claimed AS
(UPDATE active
SET phase='think', wait_reason=NULL, claimed_sent_at=CASE WHEN (active.quarantined IS true) THEN NULL ELSE CASE WHEN
    (active.sent_at - active.due_at > 0.25) THEN NULL ELSE active.sent_at END END, token=%(key_token)s::VARCHAR,
    worker_id=%(key_worker)s::VARCHAR, lease_until=(coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) +
    active.call_limit_s + %(lease_s)s)
FROM locked
WHERE active.run_id = %(key_run)s::VARCHAR AND active.run_id = locked.run_id
RETURNING active.phase, active.step, active.attempt, active.failures, active.deaths, active.quarantined, active.pending,
    active.malformed, active.final_reason, active.last_words, active.folds, active.output_raises, active.cost_usd,
    active.reserved_usd, active.allotment_usd, active.batch_id, active.klass, active.config_hash, active.queue,
    active.call_limit_s),
attempt AS
(INSERT INTO attempts (token, run_id, step, call, attempt, worker_id, queue, claimed_at, deadline_at)
SELECT %(key_token)s::VARCHAR AS anon_1, %(key_run)s::VARCHAR AS anon_2, %(key_step)s::BIGINT AS anon_3,
    %(key_call)s::BIGINT AS anon_4, %(key_attempt)s::BIGINT AS anon_5, %(key_worker)s::VARCHAR AS anon_6, claimed.queue
    AS queue, coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) AS coalesce_1, coalesce(%(now)s,
    extract(epoch from clock_timestamp())::float8) + claimed.call_limit_s + %(lease_s)s AS anon_7
FROM claimed)
SELECT claimed.phase, claimed.step, claimed.attempt, claimed.failures, claimed.deaths, claimed.quarantined,
    claimed.pending, claimed.malformed, claimed.final_reason, claimed.last_words, claimed.folds, claimed.output_raises,
    claimed.cost_usd, claimed.reserved_usd, claimed.allotment_usd, claimed.batch_id, claimed.klass, claimed.config_hash
FROM claimed;

-- postgres.CLAIM_CALL
WITH locked AS
(SELECT active.run_id AS run_id, active.batch_id AS batch_id, active.config_hash AS config_hash, active.event AS event,
    active.pending AS pending
FROM active
WHERE active.run_id = %(key_run)s::VARCHAR AND active.step = %(key_step)s::BIGINT AND active.phase = 'act' AND
    (active.deadline_at IS NULL OR active.deadline_at > coalesce(%(now)s, extract(epoch from
    clock_timestamp())::float8)) AND active.paused IS false AND active.parked IS NULL AND (EXISTS (SELECT *
FROM workers
WHERE workers.id = %(key_worker)s::VARCHAR AND workers.state = 'up')) AND (SELECT true AS anon_8
FROM batches
WHERE batches.id = active.batch_id AND batches.state = 'open' AND batches.paused_reason IS NULL) FOR UPDATE OF active
    SKIP LOCKED),
claimed AS
(UPDATE tool_calls
SET state='running', wait_reason=NULL, claimed_sent_at=CASE WHEN (tool_calls.sent_at - tool_calls.due_at > 0.25) THEN
    NULL ELSE tool_calls.sent_at END, token=%(key_token)s::VARCHAR, worker_id=%(key_worker)s::VARCHAR,
    lease_until=(coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) + %(lease_s)s)
FROM locked
WHERE tool_calls.run_id = %(key_run)s::VARCHAR AND tool_calls.step = %(key_step)s::INTEGER AND tool_calls.call =
    %(key_call)s::INTEGER AND tool_calls.attempt = %(key_attempt)s::BIGINT AND tool_calls.state = 'pending' AND
    tool_calls.due_at <= coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) + 0.05 AND tool_calls.held IS
    NULL AND tool_calls.run_id = locked.run_id
RETURNING tool_calls.tool, tool_calls.args, tool_calls.attempt, tool_calls.failures, tool_calls.deaths,
    tool_calls.quarantined, tool_calls.queue),
attempt AS
(INSERT INTO attempts (token, run_id, step, call, attempt, worker_id, queue, claimed_at, deadline_at)
SELECT %(key_token)s::VARCHAR AS anon_1, %(key_run)s::VARCHAR AS anon_2, %(key_step)s::BIGINT AS anon_3,
    %(key_call)s::BIGINT AS anon_4, %(key_attempt)s::BIGINT AS anon_5, %(key_worker)s::VARCHAR AS anon_6, claimed.queue
    AS queue, coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) AS coalesce_1, coalesce(%(now)s,
    extract(epoch from clock_timestamp())::float8) + %(lease_s)s AS anon_7
FROM claimed)
SELECT locked.run_id, locked.batch_id, locked.config_hash, locked.event, locked.pending, claimed.tool, claimed.args,
    claimed.attempt, claimed.failures, claimed.deaths, claimed.quarantined, claimed.queue
FROM locked JOIN claimed ON true;

-- postgres.START_CALL
WITH locked AS
(SELECT active.run_id AS run_id
FROM active
WHERE active.run_id = %(key_run)s::VARCHAR AND active.step = %(key_step)s::BIGINT AND active.phase = 'act' AND
    (active.deadline_at IS NULL OR active.deadline_at > coalesce(%(now)s, extract(epoch from
    clock_timestamp())::float8)) AND (SELECT true AS anon_1
FROM batches
WHERE batches.id = active.batch_id AND batches.state = 'open') FOR UPDATE OF active SKIP LOCKED),
begun AS
(UPDATE tool_calls
SET started_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8)
FROM locked
WHERE tool_calls.run_id = %(key_run)s::VARCHAR AND tool_calls.step = %(key_step)s::INTEGER AND tool_calls.call =
    %(key_call)s::INTEGER AND tool_calls.token = %(key_token)s::VARCHAR AND tool_calls.lease_until > coalesce(%(now)s,
    extract(epoch from clock_timestamp())::float8) AND tool_calls.started_at IS NULL AND tool_calls.run_id =
    locked.run_id
RETURNING tool_calls.run_id),
noted AS
(UPDATE attempts
SET started_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8)
FROM begun
WHERE attempts.token = %(key_token)s::VARCHAR AND attempts.run_id = begun.run_id)
SELECT begun.run_id
FROM begun;

-- postgres.MOVE
WITH moved AS
(UPDATE active
SET phase=%(new_phase)s::VARCHAR, step=%(new_step)s::BIGINT, attempt=%(new_attempt)s::BIGINT,
    failures=%(new_failures)s::BIGINT, deaths=%(new_deaths)s::BIGINT, quarantined=%(new_quarantined)s,
    pending=%(new_pending)s::BIGINT, malformed=%(new_malformed)s::BIGINT, final_reason=%(new_final_reason)s::VARCHAR,
    last_words=%(new_last_words)s::VARCHAR, folds=%(new_folds)s::BIGINT, output_raises=%(new_output_raises)s::BIGINT,
    prompt_tokens=(active.prompt_tokens + %(used_prompt_tokens)s::BIGINT), cached_tokens=(active.cached_tokens +
    %(used_cached_tokens)s::BIGINT), completion_tokens=(active.completion_tokens + %(used_completion_tokens)s::BIGINT),
    cost_usd=(active.cost_usd + %(used_cost_usd)s), unpriced=(active.unpriced + %(used_unpriced)s::BIGINT),
    attempts=(active.attempts + %(used_attempts)s::BIGINT), event=(active.event + 1), due_at=(coalesce(%(now)s,
    extract(epoch from clock_timestamp())::float8) + %(due_in_s)s), wait_reason=%(new_wait_reason)s::VARCHAR,
    sent_at=(coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) + %(due_in_s)s), token=NULL,
    worker_id=NULL, lease_until=NULL, parked=%(new_parked)s::VARCHAR, parked_target=%(new_parked_target)s::VARCHAR,
    parked_at=CASE WHEN (%(new_parked)s::VARCHAR IS NOT NULL) THEN coalesce(%(now)s, extract(epoch from
    clock_timestamp())::float8) ELSE NULL END
WHERE active.run_id = %(key_run)s::VARCHAR AND active.token = %(key_token)s::VARCHAR
RETURNING active.run_id, active.klass, active.event),
attempt AS
(UPDATE attempts
SET ended_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8), outcome=%(spent_outcome)s::VARCHAR,
    error=%(spent_error)s::VARCHAR, prompt_tokens=%(used_prompt_tokens)s::BIGINT,
    cached_tokens=%(used_cached_tokens)s::BIGINT, completion_tokens=%(used_completion_tokens)s::BIGINT,
    cost_usd=%(spent_cost_usd)s, reserved_usd=NULL, event=moved.event
FROM moved
WHERE attempts.token = %(key_token)s::VARCHAR AND attempts.run_id = moved.run_id)
SELECT moved.klass
FROM moved;

-- postgres.MOVE_WITH_STEP
WITH moved AS
(UPDATE active
SET phase=%(new_phase)s::VARCHAR, step=%(new_step)s::BIGINT, attempt=%(new_attempt)s::BIGINT,
    failures=%(new_failures)s::BIGINT, deaths=%(new_deaths)s::BIGINT, quarantined=%(new_quarantined)s,
    pending=%(new_pending)s::BIGINT, malformed=%(new_malformed)s::BIGINT, final_reason=%(new_final_reason)s::VARCHAR,
    last_words=%(new_last_words)s::VARCHAR, folds=%(new_folds)s::BIGINT, output_raises=%(new_output_raises)s::BIGINT,
    prompt_tokens=(active.prompt_tokens + %(used_prompt_tokens)s::BIGINT), cached_tokens=(active.cached_tokens +
    %(used_cached_tokens)s::BIGINT), completion_tokens=(active.completion_tokens + %(used_completion_tokens)s::BIGINT),
    cost_usd=(active.cost_usd + %(used_cost_usd)s), unpriced=(active.unpriced + %(used_unpriced)s::BIGINT),
    attempts=(active.attempts + %(used_attempts)s::BIGINT), event=(active.event + 1), due_at=(coalesce(%(now)s,
    extract(epoch from clock_timestamp())::float8) + %(due_in_s)s), wait_reason=%(new_wait_reason)s::VARCHAR,
    sent_at=(coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) + %(due_in_s)s), token=NULL,
    worker_id=NULL, lease_until=NULL, parked=%(new_parked)s::VARCHAR, parked_target=%(new_parked_target)s::VARCHAR,
    parked_at=CASE WHEN (%(new_parked)s::VARCHAR IS NOT NULL) THEN coalesce(%(now)s, extract(epoch from
    clock_timestamp())::float8) ELSE NULL END
WHERE active.run_id = %(key_run)s::VARCHAR AND active.token = %(key_token)s::VARCHAR
RETURNING active.run_id, active.klass, active.event),
attempt AS
(UPDATE attempts
SET ended_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8), outcome=%(spent_outcome)s::VARCHAR,
    error=%(spent_error)s::VARCHAR, prompt_tokens=%(used_prompt_tokens)s::BIGINT,
    cached_tokens=%(used_cached_tokens)s::BIGINT, completion_tokens=%(used_completion_tokens)s::BIGINT,
    cost_usd=%(spent_cost_usd)s, reserved_usd=NULL, event=moved.event
FROM moved
WHERE attempts.token = %(key_token)s::VARCHAR AND attempts.run_id = moved.run_id),
step AS
(INSERT INTO steps (run_id, event, created_at, step, token, kind, reply, kept, thought, finish_reason, model, message,
    notice, answer, latency_s, extras, endpoint_id, prompt_tokens, cached_tokens, completion_tokens, cost_usd)
SELECT moved.run_id AS run_id, moved.event AS event, coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) AS
    coalesce_1, %(key_step)s::INTEGER AS anon_1, %(key_token)s::VARCHAR AS anon_2, %(step_kind)s::VARCHAR AS anon_3,
    %(step_reply)s::VARCHAR AS anon_4, %(step_kept)s::VARCHAR AS anon_5, %(step_thought)s::VARCHAR AS anon_6,
    %(step_finish_reason)s::VARCHAR AS anon_7, %(step_model)s::VARCHAR AS anon_8, %(step_message)s::JSON AS anon_9,
    %(step_notice)s::VARCHAR AS anon_10, %(step_answer)s::VARCHAR AS anon_11, %(step_latency_s)s AS anon_12,
    %(step_extras)s::JSON AS anon_13, %(step_endpoint_id)s::VARCHAR AS anon_14, %(used_prompt_tokens)s::BIGINT AS
    anon_15, %(used_cached_tokens)s::BIGINT AS anon_16, %(used_completion_tokens)s::BIGINT AS anon_17,
    %(spent_cost_usd)s AS anon_18
FROM moved)
SELECT moved.klass
FROM moved;

-- postgres.MOVE_WITH_CALLS
WITH moved AS
(UPDATE active
SET phase=%(new_phase)s::VARCHAR, step=%(new_step)s::BIGINT, attempt=%(new_attempt)s::BIGINT,
    failures=%(new_failures)s::BIGINT, deaths=%(new_deaths)s::BIGINT, quarantined=%(new_quarantined)s,
    pending=%(new_pending)s::BIGINT, malformed=%(new_malformed)s::BIGINT, final_reason=%(new_final_reason)s::VARCHAR,
    last_words=%(new_last_words)s::VARCHAR, folds=%(new_folds)s::BIGINT, output_raises=%(new_output_raises)s::BIGINT,
    prompt_tokens=(active.prompt_tokens + %(used_prompt_tokens)s::BIGINT), cached_tokens=(active.cached_tokens +
    %(used_cached_tokens)s::BIGINT), completion_tokens=(active.completion_tokens + %(used_completion_tokens)s::BIGINT),
    cost_usd=(active.cost_usd + %(used_cost_usd)s), unpriced=(active.unpriced + %(used_unpriced)s::BIGINT),
    attempts=(active.attempts + %(used_attempts)s::BIGINT), event=(active.event + 1), due_at=(coalesce(%(now)s,
    extract(epoch from clock_timestamp())::float8) + %(due_in_s)s), wait_reason=%(new_wait_reason)s::VARCHAR,
    sent_at=(coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) + %(due_in_s)s), token=NULL,
    worker_id=NULL, lease_until=NULL, parked=%(new_parked)s::VARCHAR, parked_target=%(new_parked_target)s::VARCHAR,
    parked_at=CASE WHEN (%(new_parked)s::VARCHAR IS NOT NULL) THEN coalesce(%(now)s, extract(epoch from
    clock_timestamp())::float8) ELSE NULL END
WHERE active.run_id = %(key_run)s::VARCHAR AND active.token = %(key_token)s::VARCHAR
RETURNING active.run_id, active.klass, active.event),
attempt AS
(UPDATE attempts
SET ended_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8), outcome=%(spent_outcome)s::VARCHAR,
    error=%(spent_error)s::VARCHAR, prompt_tokens=%(used_prompt_tokens)s::BIGINT,
    cached_tokens=%(used_cached_tokens)s::BIGINT, completion_tokens=%(used_completion_tokens)s::BIGINT,
    cost_usd=%(spent_cost_usd)s, reserved_usd=NULL, event=moved.event
FROM moved
WHERE attempts.token = %(key_token)s::VARCHAR AND attempts.run_id = moved.run_id),
step AS
(INSERT INTO steps (run_id, event, created_at, step, token, kind, reply, kept, thought, finish_reason, model, message,
    notice, answer, latency_s, extras, endpoint_id, prompt_tokens, cached_tokens, completion_tokens, cost_usd)
SELECT moved.run_id AS run_id, moved.event AS event, coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) AS
    coalesce_1, %(key_step)s::INTEGER AS anon_1, %(key_token)s::VARCHAR AS anon_2, %(step_kind)s::VARCHAR AS anon_3,
    %(step_reply)s::VARCHAR AS anon_4, %(step_kept)s::VARCHAR AS anon_5, %(step_thought)s::VARCHAR AS anon_6,
    %(step_finish_reason)s::VARCHAR AS anon_7, %(step_model)s::VARCHAR AS anon_8, %(step_message)s::JSON AS anon_9,
    %(step_notice)s::VARCHAR AS anon_10, %(step_answer)s::VARCHAR AS anon_11, %(step_latency_s)s AS anon_12,
    %(step_extras)s::JSON AS anon_13, %(step_endpoint_id)s::VARCHAR AS anon_14, %(used_prompt_tokens)s::BIGINT AS
    anon_15, %(used_cached_tokens)s::BIGINT AS anon_16, %(used_completion_tokens)s::BIGINT AS anon_17,
    %(spent_cost_usd)s AS anon_18
FROM moved),
calls AS
(INSERT INTO tool_calls (run_id, step, event, call, tool, args, queue, call_id, observation, held, state, outcome,
    due_at, sent_at)
SELECT moved.run_id AS run_id, %(key_step)s::INTEGER AS anon_19, moved.event AS event, asked.call AS call, asked.tool AS
    tool, asked.args AS args, asked.queue AS queue, asked.call_id AS call_id, asked.observation AS observation,
    asked.held AS held, asked.state AS state, asked.outcome AS outcome, coalesce(%(now)s, extract(epoch from
    clock_timestamp())::float8) AS coalesce_1, coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) AS
    coalesce__1
FROM moved JOIN json_to_recordset(%(new_calls)s::JSON) AS asked(call INTEGER, tool TEXT, args JSON, queue TEXT, call_id
    TEXT, observation TEXT, held TEXT, state TEXT, outcome TEXT) ON true)
SELECT moved.klass
FROM moved;

-- postgres.END
WITH gone AS
(DELETE
FROM active
WHERE active.run_id = %(key_run)s::VARCHAR AND active.token = %(key_token)s::VARCHAR
RETURNING active.run_id, active.batch_id, active.owner_id, active.charged, active.prompt_tokens, active.cached_tokens,
    active.completion_tokens, active.cost_usd, active.unpriced, active.attempts, active.wasted_tokens,
    active.wasted_cost_usd, active.wasted_s, active.wasted_attempts, active.reserved_usd, active.event + 1 AS event),
attempt AS
(UPDATE attempts
SET ended_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8), outcome=%(spent_outcome)s::VARCHAR,
    error=%(spent_error)s::VARCHAR, prompt_tokens=%(used_prompt_tokens)s::BIGINT,
    cached_tokens=%(used_cached_tokens)s::BIGINT, completion_tokens=%(used_completion_tokens)s::BIGINT,
    cost_usd=%(spent_cost_usd)s, reserved_usd=NULL, event=gone.event
FROM gone
WHERE attempts.token = %(key_token)s::VARCHAR AND attempts.run_id = gone.run_id),
run AS
(UPDATE runs
SET state=%(end_state)s::VARCHAR, error_code=%(end_error_code)s::VARCHAR, error_message=%(end_error_message)s::VARCHAR,
    answer=%(end_answer)s::VARCHAR, partial_answer=%(end_partial_answer)s::VARCHAR, steps=%(end_steps)s::BIGINT,
    prompt_tokens=(gone.prompt_tokens + %(used_prompt_tokens)s::BIGINT), cached_tokens=(gone.cached_tokens +
    %(used_cached_tokens)s::BIGINT), completion_tokens=(gone.completion_tokens + %(used_completion_tokens)s::BIGINT),
    cost_usd=(gone.cost_usd + %(used_cost_usd)s), unpriced=(gone.unpriced + %(used_unpriced)s::BIGINT),
    attempts=(gone.attempts + %(used_attempts)s::BIGINT), wasted_tokens=gone.wasted_tokens,
    wasted_cost_usd=gone.wasted_cost_usd, wasted_s=gone.wasted_s, wasted_attempts=gone.wasted_attempts,
    reserved_usd=gone.reserved_usd, event=gone.event, finished_at=coalesce(%(now)s, extract(epoch from
    clock_timestamp())::float8)
FROM gone
WHERE runs.id = %(key_run)s::VARCHAR AND runs.id = gone.run_id),
ending AS
(INSERT INTO endings (state, error_code, steps, run_id, batch_id, owner_id, charged, prompt_tokens, cached_tokens,
    completion_tokens, cost_usd, unpriced, attempts, wasted_tokens, wasted_cost_usd, wasted_s, wasted_attempts,
    reserved_usd, ended_at)
SELECT %(end_state)s::VARCHAR AS anon_1, %(end_error_code)s::VARCHAR AS anon_2, %(end_steps)s::BIGINT AS anon_3,
    gone.run_id AS run_id, gone.batch_id AS batch_id, gone.owner_id AS owner_id, gone.charged AS charged,
    gone.prompt_tokens + %(used_prompt_tokens)s::BIGINT AS anon_4, gone.cached_tokens + %(used_cached_tokens)s::BIGINT
    AS anon_5, gone.completion_tokens + %(used_completion_tokens)s::BIGINT AS anon_6, gone.cost_usd + %(used_cost_usd)s
    AS anon_7, gone.unpriced + %(used_unpriced)s::BIGINT AS anon_8, gone.attempts + %(used_attempts)s::BIGINT AS anon_9,
    gone.wasted_tokens AS wasted_tokens, gone.wasted_cost_usd AS wasted_cost_usd, gone.wasted_s AS wasted_s,
    gone.wasted_attempts AS wasted_attempts, gone.reserved_usd AS reserved_usd, coalesce(%(now)s, extract(epoch from
    clock_timestamp())::float8) AS coalesce_1
FROM gone)
SELECT gone.run_id
FROM gone;

-- postgres.END_WITH_STEP
WITH gone AS
(DELETE
FROM active
WHERE active.run_id = %(key_run)s::VARCHAR AND active.token = %(key_token)s::VARCHAR
RETURNING active.run_id, active.batch_id, active.owner_id, active.charged, active.prompt_tokens, active.cached_tokens,
    active.completion_tokens, active.cost_usd, active.unpriced, active.attempts, active.wasted_tokens,
    active.wasted_cost_usd, active.wasted_s, active.wasted_attempts, active.reserved_usd, active.event + 1 AS event),
step AS
(INSERT INTO steps (run_id, event, created_at, step, token, kind, reply, kept, thought, finish_reason, model, message,
    notice, answer, latency_s, extras, endpoint_id, prompt_tokens, cached_tokens, completion_tokens, cost_usd)
SELECT gone.run_id AS run_id, gone.event AS event, coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) AS
    coalesce_1, %(key_step)s::INTEGER AS anon_1, %(key_token)s::VARCHAR AS anon_2, %(step_kind)s::VARCHAR AS anon_3,
    %(step_reply)s::VARCHAR AS anon_4, %(step_kept)s::VARCHAR AS anon_5, %(step_thought)s::VARCHAR AS anon_6,
    %(step_finish_reason)s::VARCHAR AS anon_7, %(step_model)s::VARCHAR AS anon_8, %(step_message)s::JSON AS anon_9,
    %(step_notice)s::VARCHAR AS anon_10, %(step_answer)s::VARCHAR AS anon_11, %(step_latency_s)s AS anon_12,
    %(step_extras)s::JSON AS anon_13, %(step_endpoint_id)s::VARCHAR AS anon_14, %(used_prompt_tokens)s::BIGINT AS
    anon_15, %(used_cached_tokens)s::BIGINT AS anon_16, %(used_completion_tokens)s::BIGINT AS anon_17,
    %(spent_cost_usd)s AS anon_18
FROM gone),
attempt AS
(UPDATE attempts
SET ended_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8), outcome=%(spent_outcome)s::VARCHAR,
    error=%(spent_error)s::VARCHAR, prompt_tokens=%(used_prompt_tokens)s::BIGINT,
    cached_tokens=%(used_cached_tokens)s::BIGINT, completion_tokens=%(used_completion_tokens)s::BIGINT,
    cost_usd=%(spent_cost_usd)s, reserved_usd=NULL, event=gone.event
FROM gone
WHERE attempts.token = %(key_token)s::VARCHAR AND attempts.run_id = gone.run_id),
run AS
(UPDATE runs
SET state=%(end_state)s::VARCHAR, error_code=%(end_error_code)s::VARCHAR, error_message=%(end_error_message)s::VARCHAR,
    answer=%(end_answer)s::VARCHAR, partial_answer=%(end_partial_answer)s::VARCHAR, steps=%(end_steps)s::BIGINT,
    prompt_tokens=(gone.prompt_tokens + %(used_prompt_tokens)s::BIGINT), cached_tokens=(gone.cached_tokens +
    %(used_cached_tokens)s::BIGINT), completion_tokens=(gone.completion_tokens + %(used_completion_tokens)s::BIGINT),
    cost_usd=(gone.cost_usd + %(used_cost_usd)s), unpriced=(gone.unpriced + %(used_unpriced)s::BIGINT),
    attempts=(gone.attempts + %(used_attempts)s::BIGINT), wasted_tokens=gone.wasted_tokens,
    wasted_cost_usd=gone.wasted_cost_usd, wasted_s=gone.wasted_s, wasted_attempts=gone.wasted_attempts,
    reserved_usd=gone.reserved_usd, event=gone.event, finished_at=coalesce(%(now)s, extract(epoch from
    clock_timestamp())::float8)
FROM gone
WHERE runs.id = %(key_run)s::VARCHAR AND runs.id = gone.run_id),
ending AS
(INSERT INTO endings (state, error_code, steps, run_id, batch_id, owner_id, charged, prompt_tokens, cached_tokens,
    completion_tokens, cost_usd, unpriced, attempts, wasted_tokens, wasted_cost_usd, wasted_s, wasted_attempts,
    reserved_usd, ended_at)
SELECT %(end_state)s::VARCHAR AS anon_19, %(end_error_code)s::VARCHAR AS anon_20, %(end_steps)s::BIGINT AS anon_21,
    gone.run_id AS run_id, gone.batch_id AS batch_id, gone.owner_id AS owner_id, gone.charged AS charged,
    gone.prompt_tokens + %(used_prompt_tokens)s::BIGINT AS anon_22, gone.cached_tokens + %(used_cached_tokens)s::BIGINT
    AS anon_23, gone.completion_tokens + %(used_completion_tokens)s::BIGINT AS anon_24, gone.cost_usd +
    %(used_cost_usd)s AS anon_25, gone.unpriced + %(used_unpriced)s::BIGINT AS anon_26, gone.attempts +
    %(used_attempts)s::BIGINT AS anon_27, gone.wasted_tokens AS wasted_tokens, gone.wasted_cost_usd AS wasted_cost_usd,
    gone.wasted_s AS wasted_s, gone.wasted_attempts AS wasted_attempts, gone.reserved_usd AS reserved_usd,
    coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) AS coalesce_1
FROM gone)
SELECT gone.run_id
FROM gone;

-- postgres.FINISH_CALL
WITH moved AS
(UPDATE active
SET pending=%(new_pending)s::BIGINT, prompt_tokens=(active.prompt_tokens + %(used_prompt_tokens)s::BIGINT),
    cached_tokens=(active.cached_tokens + %(used_cached_tokens)s::BIGINT), completion_tokens=(active.completion_tokens +
    %(used_completion_tokens)s::BIGINT), cost_usd=(active.cost_usd + %(used_cost_usd)s), unpriced=(active.unpriced +
    %(used_unpriced)s::BIGINT), attempts=(active.attempts + %(used_attempts)s::BIGINT), event=(active.event + 1)
WHERE active.run_id = %(key_run)s::VARCHAR AND active.run_id = %(key_run)s::VARCHAR AND active.step =
    %(key_step)s::BIGINT AND active.phase = 'act' AND active.event = %(key_event)s::BIGINT AND (EXISTS (SELECT *
FROM tool_calls
WHERE tool_calls.run_id = %(key_run)s::VARCHAR AND tool_calls.step = %(key_step)s::INTEGER AND tool_calls.call =
    %(key_call)s::INTEGER AND tool_calls.token = %(key_token)s::VARCHAR))
RETURNING active.run_id, active.klass, active.event),
call AS
(UPDATE tool_calls
SET state='done', outcome=%(new_outcome)s::VARCHAR, observation=%(new_observation)s::VARCHAR, worker_id=NULL,
    lease_until=NULL, finished_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8), event=moved.event
FROM moved
WHERE tool_calls.run_id = %(key_run)s::VARCHAR AND tool_calls.step = %(key_step)s::INTEGER AND tool_calls.call =
    %(key_call)s::INTEGER AND tool_calls.run_id = moved.run_id),
attempt AS
(UPDATE attempts
SET ended_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8), outcome=%(spent_outcome)s::VARCHAR,
    error=%(spent_error)s::VARCHAR, prompt_tokens=%(used_prompt_tokens)s::BIGINT,
    cached_tokens=%(used_cached_tokens)s::BIGINT, completion_tokens=%(used_completion_tokens)s::BIGINT,
    cost_usd=%(spent_cost_usd)s, reserved_usd=NULL, event=moved.event
FROM moved
WHERE attempts.token = %(key_token)s::VARCHAR AND attempts.run_id = moved.run_id)
SELECT moved.klass
FROM moved;

-- postgres.FINISH_STEP
WITH moved AS
(UPDATE active
SET phase=%(new_phase)s::VARCHAR, step=%(new_step)s::BIGINT, attempt=%(new_attempt)s::BIGINT,
    failures=%(new_failures)s::BIGINT, deaths=%(new_deaths)s::BIGINT, quarantined=%(new_quarantined)s,
    pending=%(new_pending)s::BIGINT, prompt_tokens=(active.prompt_tokens + %(used_prompt_tokens)s::BIGINT),
    cached_tokens=(active.cached_tokens + %(used_cached_tokens)s::BIGINT), completion_tokens=(active.completion_tokens +
    %(used_completion_tokens)s::BIGINT), cost_usd=(active.cost_usd + %(used_cost_usd)s), unpriced=(active.unpriced +
    %(used_unpriced)s::BIGINT), attempts=(active.attempts + %(used_attempts)s::BIGINT), event=(active.event + 1),
    due_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8), wait_reason=NULL, sent_at=coalesce(%(now)s,
    extract(epoch from clock_timestamp())::float8), token=NULL, worker_id=NULL, lease_until=NULL
WHERE active.run_id = %(key_run)s::VARCHAR AND active.run_id = %(key_run)s::VARCHAR AND active.step =
    %(key_step)s::BIGINT AND active.phase = 'act' AND active.event = %(key_event)s::BIGINT AND (EXISTS (SELECT *
FROM tool_calls
WHERE tool_calls.run_id = %(key_run)s::VARCHAR AND tool_calls.step = %(key_step)s::INTEGER AND tool_calls.call =
    %(key_call)s::INTEGER AND tool_calls.token = %(key_token)s::VARCHAR))
RETURNING active.run_id, active.klass, active.event),
call AS
(UPDATE tool_calls
SET state='done', outcome=%(new_outcome)s::VARCHAR, observation=%(new_observation)s::VARCHAR, worker_id=NULL,
    lease_until=NULL, finished_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8), event=moved.event
FROM moved
WHERE tool_calls.run_id = %(key_run)s::VARCHAR AND tool_calls.step = %(key_step)s::INTEGER AND tool_calls.call =
    %(key_call)s::INTEGER AND tool_calls.run_id = moved.run_id),
attempt AS
(UPDATE attempts
SET ended_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8), outcome=%(spent_outcome)s::VARCHAR,
    error=%(spent_error)s::VARCHAR, prompt_tokens=%(used_prompt_tokens)s::BIGINT,
    cached_tokens=%(used_cached_tokens)s::BIGINT, completion_tokens=%(used_completion_tokens)s::BIGINT,
    cost_usd=%(spent_cost_usd)s, reserved_usd=NULL, event=moved.event
FROM moved
WHERE attempts.token = %(key_token)s::VARCHAR AND attempts.run_id = moved.run_id)
SELECT moved.klass
FROM moved;

-- claiming.CLAIM_THINK
UPDATE active
SET phase='think', wait_reason=NULL, claimed_sent_at=CASE WHEN (active.quarantined IS true) THEN NULL ELSE CASE WHEN
    (active.sent_at - active.due_at > 0.25) THEN NULL ELSE active.sent_at END END, token=%(key_token)s::VARCHAR,
    worker_id=%(key_worker)s::VARCHAR, lease_until=(coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) +
    active.call_limit_s + %(lease_s)s)
WHERE active.run_id = %(key_run)s::VARCHAR AND active.step = %(key_step)s::BIGINT AND active.attempt =
    %(key_attempt)s::BIGINT AND (active.phase = 'think' OR active.phase = 'wait') AND active.token IS NULL AND
    active.due_at <= coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) + 0.05 AND active.paused IS false
    AND active.parked IS NULL AND (active.deadline_at IS NULL OR active.deadline_at > coalesce(%(now)s, extract(epoch
    from clock_timestamp())::float8))
RETURNING active.phase, active.step, active.attempt, active.failures, active.deaths, active.quarantined, active.pending,
    active.malformed, active.final_reason, active.last_words, active.folds, active.output_raises, active.cost_usd,
    active.reserved_usd, active.allotment_usd, active.batch_id, active.klass, active.config_hash, active.queue,
    active.call_limit_s;

-- claiming.LOCK_TO_START
SELECT active.batch_id, active.config_hash
FROM active
WHERE active.run_id = %(key_run)s::VARCHAR AND active.step = %(key_step)s::BIGINT AND active.phase = 'act' AND
    (active.deadline_at IS NULL OR active.deadline_at > coalesce(%(now)s, extract(epoch from
    clock_timestamp())::float8)) FOR UPDATE;

-- claiming.LOCK_TO_CLAIM
SELECT active.batch_id, active.config_hash
FROM active
WHERE active.run_id = %(key_run)s::VARCHAR AND active.step = %(key_step)s::BIGINT AND active.phase = 'act' AND
    (active.deadline_at IS NULL OR active.deadline_at > coalesce(%(now)s, extract(epoch from
    clock_timestamp())::float8)) AND active.paused IS false AND active.parked IS NULL FOR UPDATE;

-- claiming.CLAIM_CALL
UPDATE tool_calls
SET state='running', wait_reason=NULL, claimed_sent_at=CASE WHEN (tool_calls.sent_at - tool_calls.due_at > 0.25) THEN
    NULL ELSE tool_calls.sent_at END, token=%(key_token)s::VARCHAR, worker_id=%(key_worker)s::VARCHAR,
    lease_until=(coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) + %(lease_s)s)
WHERE tool_calls.run_id = %(key_run)s::VARCHAR AND tool_calls.step = %(key_step)s::INTEGER AND tool_calls.call =
    %(key_call)s::INTEGER AND tool_calls.attempt = %(key_attempt)s::BIGINT AND tool_calls.state = 'pending' AND
    tool_calls.due_at <= coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) + 0.05 AND tool_calls.held IS
    NULL
RETURNING tool_calls.tool, tool_calls.args, tool_calls.attempt, tool_calls.failures, tool_calls.deaths,
    tool_calls.quarantined, tool_calls.queue;

-- claiming.START_IN_BATCH
UPDATE tool_calls
SET started_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8)
WHERE tool_calls.run_id = %(key_run)s::VARCHAR AND tool_calls.step = %(key_step)s::INTEGER AND tool_calls.call =
    %(key_call)s::INTEGER AND tool_calls.token = %(key_token)s::VARCHAR AND tool_calls.lease_until > coalesce(%(now)s,
    extract(epoch from clock_timestamp())::float8) AND tool_calls.started_at IS NULL AND (EXISTS (SELECT *
FROM batches
WHERE batches.id = %(key_batch)s::VARCHAR AND batches.state = 'open'));

-- claiming.NOTE_START
UPDATE attempts
SET started_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8)
WHERE attempts.token = %(key_token)s::VARCHAR;

-- claiming.WRITE_ATTEMPT
INSERT INTO attempts (token, run_id, step, call, attempt, worker_id, queue, claimed_at, deadline_at)
SELECT %(key_token)s::VARCHAR AS anon_1, %(key_run)s::VARCHAR AS anon_2, %(key_step)s::BIGINT AS anon_3,
    %(key_call)s::BIGINT AS anon_4, %(key_attempt)s::BIGINT AS anon_5, %(key_worker)s::VARCHAR AS anon_6,
    %(new_queue)s::VARCHAR AS anon_7, coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) AS coalesce_1,
    coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) + %(lease_s)s AS anon_8
WHERE (EXISTS (SELECT *
FROM workers
WHERE workers.id = %(key_worker)s::VARCHAR AND workers.state = 'up')) AND (EXISTS (SELECT *
FROM batches
WHERE batches.id = %(key_batch)s::VARCHAR AND batches.state = 'open' AND batches.paused_reason IS NULL))
RETURNING attempts.token;

-- claiming.RESERVE
UPDATE attempts
SET reserved_usd=%(bound_usd)s
WHERE attempts.token = %(key_token)s::VARCHAR AND attempts.ended_at IS NULL
RETURNING attempts.token;

-- applying.MOVE
UPDATE active
SET phase=%(new_phase)s::VARCHAR, step=%(new_step)s::BIGINT, attempt=%(new_attempt)s::BIGINT,
    failures=%(new_failures)s::BIGINT, deaths=%(new_deaths)s::BIGINT, quarantined=%(new_quarantined)s,
    pending=%(new_pending)s::BIGINT, malformed=%(new_malformed)s::BIGINT, final_reason=%(new_final_reason)s::VARCHAR,
    last_words=%(new_last_words)s::VARCHAR, folds=%(new_folds)s::BIGINT, output_raises=%(new_output_raises)s::BIGINT,
    prompt_tokens=(active.prompt_tokens + %(used_prompt_tokens)s::BIGINT), cached_tokens=(active.cached_tokens +
    %(used_cached_tokens)s::BIGINT), completion_tokens=(active.completion_tokens + %(used_completion_tokens)s::BIGINT),
    cost_usd=(active.cost_usd + %(used_cost_usd)s), unpriced=(active.unpriced + %(used_unpriced)s::BIGINT),
    attempts=(active.attempts + %(used_attempts)s::BIGINT), wasted_tokens=(active.wasted_tokens +
    %(used_wasted_tokens)s::BIGINT), wasted_cost_usd=(active.wasted_cost_usd + %(used_wasted_cost_usd)s),
    wasted_s=(active.wasted_s + %(used_wasted_s)s), wasted_attempts=(active.wasted_attempts +
    %(used_wasted_attempts)s::BIGINT), reserved_usd=(active.reserved_usd + %(used_reserved_usd)s), event=(active.event +
    1), due_at=(coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) + %(due_in_s)s),
    wait_reason=%(new_wait_reason)s::VARCHAR, sent_at=(coalesce(%(now)s, extract(epoch from clock_timestamp())::float8)
    + %(due_in_s)s), token=NULL, worker_id=NULL, lease_until=NULL, parked=%(new_parked)s::VARCHAR,
    parked_target=%(new_parked_target)s::VARCHAR, parked_at=CASE WHEN (%(new_parked)s::VARCHAR IS NOT NULL) THEN
    coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) ELSE NULL END
WHERE active.run_id = %(key_run)s::VARCHAR AND active.token = %(key_token)s::VARCHAR
RETURNING active.run_id, active.klass, active.event;

-- applying.NEXT_STEP
UPDATE active
SET phase=%(new_phase)s::VARCHAR, step=%(new_step)s::BIGINT, attempt=%(new_attempt)s::BIGINT,
    failures=%(new_failures)s::BIGINT, deaths=%(new_deaths)s::BIGINT, quarantined=%(new_quarantined)s,
    pending=%(new_pending)s::BIGINT, prompt_tokens=(active.prompt_tokens + %(used_prompt_tokens)s::BIGINT),
    cached_tokens=(active.cached_tokens + %(used_cached_tokens)s::BIGINT), completion_tokens=(active.completion_tokens +
    %(used_completion_tokens)s::BIGINT), cost_usd=(active.cost_usd + %(used_cost_usd)s), unpriced=(active.unpriced +
    %(used_unpriced)s::BIGINT), attempts=(active.attempts + %(used_attempts)s::BIGINT),
    wasted_tokens=(active.wasted_tokens + %(used_wasted_tokens)s::BIGINT), wasted_cost_usd=(active.wasted_cost_usd +
    %(used_wasted_cost_usd)s), wasted_s=(active.wasted_s + %(used_wasted_s)s), wasted_attempts=(active.wasted_attempts +
    %(used_wasted_attempts)s::BIGINT), reserved_usd=(active.reserved_usd + %(used_reserved_usd)s), event=(active.event +
    1), due_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8), wait_reason=NULL,
    sent_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8), token=NULL, worker_id=NULL,
    lease_until=NULL
WHERE active.run_id = %(key_run)s::VARCHAR
RETURNING active.run_id, active.klass, active.event;

-- applying.COUNT_CALL
UPDATE active
SET pending=%(new_pending)s::BIGINT, prompt_tokens=(active.prompt_tokens + %(used_prompt_tokens)s::BIGINT),
    cached_tokens=(active.cached_tokens + %(used_cached_tokens)s::BIGINT), completion_tokens=(active.completion_tokens +
    %(used_completion_tokens)s::BIGINT), cost_usd=(active.cost_usd + %(used_cost_usd)s), unpriced=(active.unpriced +
    %(used_unpriced)s::BIGINT), attempts=(active.attempts + %(used_attempts)s::BIGINT),
    wasted_tokens=(active.wasted_tokens + %(used_wasted_tokens)s::BIGINT), wasted_cost_usd=(active.wasted_cost_usd +
    %(used_wasted_cost_usd)s), wasted_s=(active.wasted_s + %(used_wasted_s)s), wasted_attempts=(active.wasted_attempts +
    %(used_wasted_attempts)s::BIGINT), reserved_usd=(active.reserved_usd + %(used_reserved_usd)s), event=(active.event +
    1)
WHERE active.run_id = %(key_run)s::VARCHAR
RETURNING active.run_id, active.klass, active.event;

-- applying.LEAVE
DELETE
FROM active
WHERE active.run_id = %(key_run)s::VARCHAR
RETURNING active.run_id, active.batch_id, active.owner_id, active.klass, active.config_hash, active.phase, active.step,
    active.attempt, active.failures, active.deaths, active.quarantined, active.pending, active.malformed,
    active.final_reason, active.last_words, active.folds, active.output_raises, active.prompt_tokens,
    active.cached_tokens, active.completion_tokens, active.cost_usd, active.unpriced, active.attempts,
    active.wasted_tokens, active.wasted_cost_usd, active.wasted_s, active.wasted_attempts, active.reserved_usd,
    active.allotment_usd, active.due_at, active.wait_reason, active.queue, active.sent_at, active.claimed_sent_at,
    active.token, active.worker_id, active.lease_until, active.call_limit_s, active.paused, active.parked,
    active.parked_target, active.parked_at, active.deadline_at, active.admitted_at, active.charged, active.event + 1 AS
    event;

-- applying.LEAVE_UNDER_LEASE
DELETE
FROM active
WHERE active.run_id = %(key_run)s::VARCHAR AND active.token = %(key_token)s::VARCHAR
RETURNING active.run_id, active.batch_id, active.owner_id, active.klass, active.config_hash, active.phase, active.step,
    active.attempt, active.failures, active.deaths, active.quarantined, active.pending, active.malformed,
    active.final_reason, active.last_words, active.folds, active.output_raises, active.prompt_tokens,
    active.cached_tokens, active.completion_tokens, active.cost_usd, active.unpriced, active.attempts,
    active.wasted_tokens, active.wasted_cost_usd, active.wasted_s, active.wasted_attempts, active.reserved_usd,
    active.allotment_usd, active.due_at, active.wait_reason, active.queue, active.sent_at, active.claimed_sent_at,
    active.token, active.worker_id, active.lease_until, active.call_limit_s, active.paused, active.parked,
    active.parked_target, active.parked_at, active.deadline_at, active.admitted_at, active.charged, active.event + 1 AS
    event;

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
WHERE active.run_id = %(key_run)s::VARCHAR AND active.step = %(key_step)s::BIGINT AND active.phase = 'act' FOR UPDATE;

-- applying.CALL_UNDER_LEASE
SELECT tool_calls.run_id, tool_calls.step, tool_calls.call, tool_calls.tool, tool_calls.args, tool_calls.call_id,
    tool_calls.state, tool_calls.outcome, tool_calls.observation, tool_calls.queue, tool_calls.held, tool_calls.attempt,
    tool_calls.failures, tool_calls.deaths, tool_calls.quarantined, tool_calls.due_at, tool_calls.wait_reason,
    tool_calls.sent_at, tool_calls.claimed_sent_at, tool_calls.token, tool_calls.worker_id, tool_calls.lease_until,
    tool_calls.started_at, tool_calls.finished_at, tool_calls.event
FROM tool_calls
WHERE tool_calls.run_id = %(key_run)s::VARCHAR AND tool_calls.step = %(key_step)s::INTEGER AND tool_calls.call =
    %(key_call)s::INTEGER AND tool_calls.token = %(key_token)s::VARCHAR AND tool_calls.state = 'running';

-- applying.FINISH_CALL
UPDATE tool_calls
SET state='done', outcome=%(new_outcome)s::VARCHAR, observation=%(new_observation)s::VARCHAR, worker_id=NULL,
    lease_until=NULL, finished_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8),
    event=%(new_event)s::BIGINT
WHERE tool_calls.run_id = %(key_run)s::VARCHAR AND tool_calls.step = %(key_step)s::INTEGER AND tool_calls.call =
    %(key_call)s::INTEGER;

-- applying.RETURN_CALL
UPDATE tool_calls
SET state='pending', queue=%(new_queue)s::VARCHAR, attempt=%(new_attempt)s::BIGINT, failures=%(new_failures)s::BIGINT,
    deaths=%(new_deaths)s::BIGINT, quarantined=%(new_quarantined)s, due_at=(coalesce(%(now)s, extract(epoch from
    clock_timestamp())::float8) + %(due_in_s)s), wait_reason=%(new_wait_reason)s::VARCHAR, sent_at=(coalesce(%(now)s,
    extract(epoch from clock_timestamp())::float8) + %(due_in_s)s), claimed_sent_at=CASE WHEN (tool_calls.queue =
    %(new_queue)s::VARCHAR) THEN tool_calls.claimed_sent_at ELSE NULL END, token=NULL, worker_id=NULL, lease_until=NULL,
    started_at=NULL
WHERE tool_calls.run_id = %(key_run)s::VARCHAR AND tool_calls.step = %(key_step)s::INTEGER AND tool_calls.call =
    %(key_call)s::INTEGER;

-- applying.NEW_CALL
INSERT INTO tool_calls (run_id, step, call, tool, args, call_id, state, outcome, observation, queue, held, due_at,
    sent_at, event) VALUES (%(key_run)s::VARCHAR, %(key_step)s::INTEGER, %(call_call)s::INTEGER, %(call_tool)s::VARCHAR,
    %(call_args)s::JSON, %(call_call_id)s::VARCHAR, %(call_state)s::VARCHAR, %(call_outcome)s::VARCHAR,
    %(call_observation)s::VARCHAR, %(call_queue)s::VARCHAR, %(call_held)s::VARCHAR, coalesce(%(now)s, extract(epoch from
    clock_timestamp())::float8), coalesce(%(now)s, extract(epoch from clock_timestamp())::float8),
    %(new_event)s::BIGINT);

-- applying.STEP
INSERT INTO steps (run_id, step, kind, reply, kept, message, thought, notice, answer, finish_reason, model,
    prompt_tokens, cached_tokens, completion_tokens, cost_usd, latency_s, token, event, created_at, extras, endpoint_id)
    VALUES (%(key_run)s::VARCHAR, %(key_step)s::INTEGER, %(step_kind)s::VARCHAR, %(step_reply)s::VARCHAR,
    %(step_kept)s::VARCHAR, %(step_message)s::JSON, %(step_thought)s::VARCHAR, %(step_notice)s::VARCHAR,
    %(step_answer)s::VARCHAR, %(step_finish_reason)s::VARCHAR, %(step_model)s::VARCHAR, %(used_prompt_tokens)s::BIGINT,
    %(used_cached_tokens)s::BIGINT, %(used_completion_tokens)s::BIGINT, %(spent_cost_usd)s, %(step_latency_s)s,
    %(key_token)s::VARCHAR, %(new_event)s::BIGINT, coalesce(%(now)s, extract(epoch from clock_timestamp())::float8),
    %(step_extras)s::JSON, %(step_endpoint_id)s::VARCHAR);

-- applying.CLOSE_ATTEMPT
UPDATE attempts
SET ended_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8), outcome=%(spent_outcome)s::VARCHAR,
    error=%(spent_error)s::VARCHAR, prompt_tokens=%(used_prompt_tokens)s::BIGINT,
    cached_tokens=%(used_cached_tokens)s::BIGINT, completion_tokens=%(used_completion_tokens)s::BIGINT,
    cost_usd=%(spent_cost_usd)s, reserved_usd=%(spent_reserved_usd)s, wasted=%(spent_wasted)s,
    event=%(new_event)s::BIGINT
WHERE attempts.token = %(key_token)s::VARCHAR;

-- applying.END_RUN
UPDATE runs
SET state=%(end_state)s::VARCHAR, error_code=%(end_error_code)s::VARCHAR, error_message=%(end_error_message)s::VARCHAR,
    answer=%(end_answer)s::VARCHAR, partial_answer=%(end_partial_answer)s::VARCHAR, steps=%(end_steps)s::BIGINT,
    prompt_tokens=%(final_prompt_tokens)s::BIGINT, cached_tokens=%(final_cached_tokens)s::BIGINT,
    completion_tokens=%(final_completion_tokens)s::BIGINT, cost_usd=%(final_cost_usd)s,
    unpriced=%(final_unpriced)s::BIGINT, attempts=%(final_attempts)s::BIGINT,
    wasted_tokens=%(final_wasted_tokens)s::BIGINT, wasted_cost_usd=%(final_wasted_cost_usd)s,
    wasted_s=%(final_wasted_s)s, wasted_attempts=%(final_wasted_attempts)s::BIGINT, reserved_usd=%(final_reserved_usd)s,
    event=%(new_event)s::BIGINT, finished_at=coalesce(%(now)s, extract(epoch from clock_timestamp())::float8)
WHERE runs.id = %(key_run)s::VARCHAR;

-- applying.ENDING
INSERT INTO endings (run_id, batch_id, owner_id, state, error_code, steps, charged, prompt_tokens, cached_tokens,
    completion_tokens, cost_usd, unpriced, attempts, wasted_tokens, wasted_cost_usd, wasted_s, wasted_attempts,
    reserved_usd, ended_at) VALUES (%(key_run)s::VARCHAR, %(final_batch_id)s::VARCHAR, %(final_owner_id)s::VARCHAR,
    %(end_state)s::VARCHAR, %(end_error_code)s::VARCHAR, %(end_steps)s::BIGINT, %(final_charged)s,
    %(final_prompt_tokens)s::BIGINT, %(final_cached_tokens)s::BIGINT, %(final_completion_tokens)s::BIGINT,
    %(final_cost_usd)s, %(final_unpriced)s::BIGINT, %(final_attempts)s::BIGINT, %(final_wasted_tokens)s::BIGINT,
    %(final_wasted_cost_usd)s, %(final_wasted_s)s, %(final_wasted_attempts)s::BIGINT, %(final_reserved_usd)s,
    coalesce(%(now)s, extract(epoch from clock_timestamp())::float8));

-- applying.FACTS
SELECT coalesce(%(now)s, extract(epoch from clock_timestamp())::float8) - attempts.claimed_at AS held_s,
    attempts.reserved_usd
FROM attempts
WHERE attempts.token = %(key_token)s::VARCHAR;
