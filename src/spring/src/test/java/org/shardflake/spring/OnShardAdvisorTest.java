/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.env.StandardEnvironment;

/** The annotation is found wherever Spring looks for one. */
class OnShardAdvisorTest {

    private final OnShardAdvisor advisor = new OnShardAdvisor(() -> {
        throw new AssertionError("nothing is called");
    });

    @OnShard("#uid")
    @Retention(RetentionPolicy.RUNTIME)
    @interface ByUid {}

    @OnShard("#uid")
    static class OnTheType {
        public void work(long uid) {}
    }

    static class OnAMethod {
        public void other() {}

        @OnShard("#uid")
        public void work(long uid) {}
    }

    static class Composed {
        @ByUid
        public void work(long uid) {}
    }

    static class OnTheSuperclass extends OnTheType {}

    static class OnAMethodOfTheSuperclass extends OnAMethod {
        @Override
        public void work(long uid) {}
    }

    interface Work {
        @OnShard("#uid")
        void work(long uid);
    }

    interface MoreWork extends Work {}

    static class OnAnInterface implements MoreWork {
        @Override
        public void work(long uid) {}
    }

    static class Nowhere {
        @Deprecated
        public void work(long uid) {}
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                OnTheType.class,
                OnAMethod.class,
                Composed.class,
                OnTheSuperclass.class,
                OnAMethodOfTheSuperclass.class,
                OnAnInterface.class
            })
    void isPutAround(Class<?> type) {
        assertThat(AopUtils.canApply(advisor, type)).isTrue();
        assertThat(AopUtils.canApply(advisor, type)).as("when asked again").isTrue();
    }

    @ParameterizedTest
    @ValueSource(classes = {Nowhere.class, Object.class, StandardEnvironment.class})
    void isNotPutAround(Class<?> type) {
        assertThat(AopUtils.canApply(advisor, type)).isFalse();
    }
}
