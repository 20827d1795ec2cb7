/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.support.StaticListableBeanFactory;
import org.springframework.core.env.StandardEnvironment;

/** The annotation is found wherever Spring looks for one. */
class OnShardAdvisorTest {

    private final OnShardAdvisor advisor = new OnShardAdvisor(
            () -> {
                throw new AssertionError("nothing is called");
            },
            new StaticListableBeanFactory(Map.of("keys", "a bean")),
            () -> {});

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

    static class OneKeyTooMany {
        @OnShard(value = "#uid", id = "#uid")
        public void work(long uid) {}
    }

    static class OtherParameter {
        public void other(long uid) {}

        @OnShard("#user.id")
        public void work(long uid) {}
    }

    static class NoParameterOnAnyMethod {
        @OnShard("#uid")
        public void work() {}
    }

    @OnShard("#user")
    static class OtherParameterOnTheType {
        public void work(long uid) {}
    }

    static class NoExpression {
        @OnShard("#uid +")
        public void work(long uid) {}
    }

    static class NoBean {
        @OnShard("@nothing.of(#uid)")
        public void work(long uid) {}
    }

    static class Private {
        @OnShard("2")
        @SuppressWarnings("UnusedMethod")
        private void work() {}
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                OneKeyTooMany.class,
                OtherParameter.class,
                NoParameterOnAnyMethod.class,
                OtherParameterOnTheType.class,
                NoExpression.class,
                NoBean.class,
                Private.class
            })
    void isRefusedAtTheStart(Class<?> type) {
        assertThatExceptionOfType(ShardflakeStartException.class)
                .isThrownBy(() -> AopUtils.canApply(advisor, type))
                .withMessageContaining("@org.shardflake.spring.OnShard")
                .withMessageContaining(type.getSimpleName())
                .satisfies(refused -> assertThat(refused.action()).contains("@OnShard(\"#uid\")"));
    }

    static class Usable {
        @OnShard("@keys.length() + #p0")
        public void work(long uid) {}

        @OnShard("#root.key(#uid, #a1)")
        public void work(long uid, String name) {}
    }

    @OnShard("#uid")
    static class UsableForSome {
        public void work(long uid) {}

        public void other() {}
    }

    @ParameterizedTest
    @ValueSource(classes = {Usable.class, UsableForSome.class})
    void isNotRefused(Class<?> type) {
        assertThat(AopUtils.canApply(advisor, type)).isTrue();
    }
}
